package newstack

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/operator/internal/newproject"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

//go:embed *.yaml.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "*.yaml.tmpl"))

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

// Paths are the paths of a stack's files in its project.
type Paths struct {
	// Inventory has the files of the inventory, and Configuration is the stack's file.
	Inventory     []string
	Configuration string
}

// All returns all paths.
func (p Paths) All() []string { return append(slices.Clone(p.Inventory), p.Configuration) }

// PathsOf returns the paths of the files of a stack.
func PathsOf(answers Answers) Paths {
	names := map[manifest.Kind][]string{
		manifest.Platform: {inventory.ClusterFile, inventory.NodesFile}, manifest.Hosts: {manifest.HostsFile}, manifest.Systems: {manifest.SystemsFile},
	}
	paths := Paths{Configuration: "Pulumi." + answers.Stack + ".yaml"}
	for _, name := range names[answers.kind()] {
		paths.Inventory = append(paths.Inventory, path.Join("stacks", answers.Stack, name))
	}
	return paths
}

// Files returns the files of a new stack that fits its site, by their paths in the project. The error has all that the site cannot give or
// that is missing, each with what to do.
func (s Site) Files(answers Answers, connection Connection) (newproject.Files, error) {
	plan, err := s.planOf(answers)
	if err != nil {
		return nil, err
	}
	files, paths := newproject.Files{}, PathsOf(answers)
	render := func(at, name string, data any) error {
		var text bytes.Buffer
		if err := templates.ExecuteTemplate(&text, name+".tmpl", data); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		files[at] = text.Bytes()
		return nil
	}
	for _, at := range paths.Inventory {
		if err := render(at, path.Base(at), plan); err != nil {
			return nil, err
		}
	}
	return files, render(paths.Configuration, "stack.yaml", struct {
		Connection
		Stack string
	}{connection, answers.Stack})
}

// planOf returns what the templates of a stack show.
func (s Site) planOf(answers Answers) (any, error) {
	switch answers.kind() {
	case manifest.Hosts:
		return s.ProposeHosts(answers)
	case manifest.Systems:
		return s.ProposeSystems(answers)
	default:
		plan, err := s.Propose(answers)
		return clusterData{Plan: plan, site: s}, err
	}
}

// clusterData is what the templates of a cluster show.
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
