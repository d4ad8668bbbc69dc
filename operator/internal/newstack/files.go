package newstack

import (
	"bytes"
	"cmp"
	_ "embed" // the templates of the files
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/operator/internal/newproject"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

//go:embed cluster.yaml.tmpl
var clusterText string

//go:embed nodes.yaml.tmpl
var nodesText string

//go:embed stack.yaml.tmpl
var stackText string

var (
	clusterTemplate = template.Must(template.New("cluster.yaml").Parse(clusterText))
	nodesTemplate   = template.Must(template.New("nodes.yaml").Parse(nodesText))
	stackTemplate   = template.Must(template.New("Pulumi.STACK.yaml").Parse(stackText))
)

// Connection is what a stack's configuration says about reaching its hosts. It contains no secret.
type Connection struct {
	// Endpoint is the URL of Proxmox VE. Required.
	Endpoint string
	// Insecure accepts any certificate. Default: false.
	Insecure bool
	// ImageFactory is the URL of the Image Factory. Default: empty, the public one.
	ImageFactory string
	// TokenVariable and TokenPath are where the token may be, for a comment. Required.
	TokenVariable, TokenPath string
}

// Paths returns the paths of a stack's files in its project.
func Paths(stack string) (cluster, nodes, configuration string) {
	folder := path.Join("stacks", stack)
	return path.Join(folder, inventory.ClusterFile), path.Join(folder, inventory.NodesFile), "Pulumi." + stack + ".yaml"
}

// Files returns the files of a plan by their paths in the project.
func (s Site) Files(plan Plan, connection Connection) (newproject.Files, error) {
	cluster, nodes, configuration := Paths(plan.Stack)
	files := newproject.Files{}
	for _, file := range []struct {
		path string
		text *template.Template
		data any
	}{
		{cluster, clusterTemplate, clusterData{Plan: plan, site: s}},
		{nodes, nodesTemplate, plan},
		{configuration, stackTemplate, struct {
			Connection
			Stack string
		}{connection, plan.Stack}},
	} {
		var text bytes.Buffer
		if err := file.text.Execute(&text, file.data); err != nil {
			return nil, fmt.Errorf("%s: %w", file.path, err)
		}
		files[file.path] = text.Bytes()
	}
	return files, nil
}

// clusterData is what the template of cluster.yaml shows.
type clusterData struct {
	Plan
	site Site
}

// Release returns the release of Proxmox VE.
func (c clusterData) Release() string { return c.site.Found.Version.Value }

// BridgeNote returns what is known of the bridge.
func (c clusterData) BridgeNote() string {
	if tags := c.site.Found.VLANs(c.Bridge); len(tags) > 0 {
		return "A bridge of Proxmox VE; guests there have the VLANs " + strings.Join(tags, ", ") + "."
	}
	return "A bridge of Proxmox VE; no guest there has a VLAN."
}

// HostNotes returns a line for each host.
func (c clusterData) HostNotes() []string {
	var notes []string
	for _, host := range c.Hosts {
		capacity := c.site.Found.Hosts[host].Capacity.Value
		notes = append(notes, fmt.Sprintf("%s has %d threads and %d GiB of memory.", host, capacity.Threads, capacity.MemoryBytes>>30))
	}
	return notes
}

// ISONote and DiskNote return the free room on the storages.
func (c clusterData) ISONote() int { return c.proposal().freeGiB(c.ISOStorage) }

// DiskNote is as ISONote.
func (c clusterData) DiskNote() int { return c.proposal().freeGiB(c.DiskStorage) }

func (c clusterData) proposal() *proposal { return &proposal{Plan: c.Plan, site: c.site} }

// PerHost returns the templates of all hosts but the first.
func (c clusterData) PerHost() string {
	var pairs []string
	for _, one := range c.Templates[1:] {
		pairs = append(pairs, fmt.Sprintf("%s: %d", one.Host, one.VMID))
	}
	return strings.Join(pairs, ", ")
}

// SizeLines returns the sizes of the roles that there are.
func (c clusterData) SizeLines() []string {
	var lines []string
	for _, one := range []struct {
		role inventory.Role
		size inventory.Size
	}{
		{inventory.RoleControlPlane, c.Sizes.ControlPlane}, {inventory.RoleWorker, c.Sizes.Worker}, {inventory.RoleGPUWorker, c.Sizes.GPUWorker},
	} {
		if c.hasRole(one.role) {
			lines = append(lines, fmt.Sprintf("%s: {cores: %d, memoryMiB: %d, diskGiB: %d}", one.role, one.size.Cores, one.size.MemoryMiB, one.size.DiskGiB))
		}
	}
	return lines
}

// NameOf returns what a GPU is called by its host.
func (p Plan) NameOf(gpu *preflight.FreeGPU) string {
	return cmp.Or(strings.TrimSpace(gpu.Device.VendorName+" "+gpu.Device.DeviceName), gpu.DeviceID)
}

// GPULine returns an item of gpus in nodes.yaml.
func (p Plan) GPULine(gpu *preflight.FreeGPU) string {
	if gpu.Mapping != "" {
		return "{mapping: " + gpu.Mapping + "}"
	}
	return fmt.Sprintf(`{bdf: "%s", deviceId: "%s", subsystemId: "%s", iommuGroup: %d}`, gpu.Device.Address, gpu.DeviceID, gpu.SubsystemID, gpu.Device.IOMMUGroup)
}

// DriverOf returns the key driver of a GPU worker if its GPU needs another one than the default.
func (p Plan) DriverOf(gpu *preflight.FreeGPU) string {
	driver, there := nvidia.Fitting([]nvidia.Generation{nvidia.GenerationOf(gpu.DeviceID)}, p.Defaults.Talos.Version.String())
	if !there || driver == (nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.LTS}) {
		return ""
	}
	return fmt.Sprintf(", driver: {kernelModuleType: %s, branch: %s}", driver.KernelModules, driver.Branch)
}
