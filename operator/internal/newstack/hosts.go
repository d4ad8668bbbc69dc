package newstack

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// HostsPlan is a stack of hosts that adopts what its hosts have.
type HostsPlan struct {
	// Answers are complete.
	Answers
	// Local are the content types of the installer's folder; none if it is no folder on one of the hosts.
	Local []string
	// Mappings are resource mappings for GPUs that have none.
	Mappings []GPUMapping

	site Site
}

// GPUMapping is a resource mapping for a GPU.
type GPUMapping struct {
	Name string
	GPU  preflight.FreeGPU
}

// forAllStacks are the content types that clusters and systems put into the installer's folder.
var forAllStacks = []string{contentISO, contentTemplate, contentImport}

// ProposeHosts completes the answers to a stack of hosts. Errors are as for [Site.Propose].
func (s Site) ProposeHosts(answers Answers) (HostsPlan, error) {
	defaults, err := inventory.DefaultCluster()
	if err != nil {
		return HostsPlan{}, err
	}
	p := &proposal{site: s, taken: s.taken(), Plan: Plan{Answers: answers, Defaults: defaults}}
	p.chooseHosts()
	for _, host := range p.Hosts {
		if maker, has := s.Makers.Of(host); has {
			p.problem("host %s is configured by another stack already (%s): name others with --host", host, maker.Place)
		}
	}
	if !p.readings() || len(p.problems) > 0 {
		return HostsPlan{Answers: p.Answers, site: s}, errors.Join(p.problems...)
	}
	return HostsPlan{Answers: p.Answers, Local: p.installedFolder(), Mappings: p.unmappedGPUs(), site: s}, nil
}

// installedFolder returns the content types of the installer's folder with those that other stacks need.
func (p *proposal) installedFolder() []string {
	var content []string
	for _, host := range p.Hosts {
		storage := p.storage(host, installedStorage)
		if storage.Type != folderType {
			return nil
		}
		content = append(content, strings.Split(storage.Content, ",")...)
	}
	content = append(content, forAllStacks...)
	slices.Sort(content)
	return slices.Compact(content)
}

// unmappedGPUs returns the GPUs of the hosts that could be passed through and have no mapping, each with a name for one.
func (p *proposal) unmappedGPUs() []GPUMapping {
	var mappings []GPUMapping
	names := map[string]int{}
	for _, host := range p.Hosts {
		free, _ := p.site.Found.FreeGPUs(host, p.Defaults.Talos.Version.String())
		for _, gpu := range free {
			if _, is := p.taken.gpuOf(gpu); is || gpu.Mapping != "" {
				continue
			}
			name := mappingName(gpu.Device)
			if names[name]++; names[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, names[name])
			}
			mappings = append(mappings, GPUMapping{Name: name, GPU: gpu})
		}
	}
	return mappings
}

// model matches the product in the name of a device, such as GA102 [GeForce RTX 3090].
var model = regexp.MustCompile(`\[(?:GeForce |Tesla |Quadro )?([^\]]+)\]`)

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// mappingName returns a name for the mapping of a GPU, such as rtx3090.
func mappingName(device pve.PCIDevice) string {
	name := device.DeviceName
	if found := model.FindStringSubmatch(name); found != nil {
		name = found[1]
	}
	name = notInNames.ReplaceAllString(strings.ToLower(name), "")
	if name == "" || name[0] < 'a' {
		return "gpu" + name
	}
	return name
}

// Release returns the release of Proxmox VE.
func (p HostsPlan) Release() string { return p.site.Found.Version.Value }

// Notes returns what a host has, a line for each bridge and storage.
func (p HostsPlan) Notes(name string) []string {
	host := p.site.Found.Hosts[name]
	var notes []string
	for _, bridge := range host.Bridges.Value {
		parts := []string{"bridge " + bridge.Name}
		if bridge.Ports != "" {
			parts = append(parts, "ports "+bridge.Ports)
		}
		if bridge.CIDR != "" {
			parts = append(parts, "address "+bridge.CIDR)
		}
		if bool(bridge.VLANAware) {
			parts = append(parts, "VLAN-aware")
		}
		notes = append(notes, strings.Join(parts, ", "))
	}
	for _, storage := range host.Storages.Value {
		notes = append(notes, fmt.Sprintf("storage %s (%s) for %s, %d GiB free", storage.Name, storage.Type, strings.ReplaceAll(storage.Content, ",", ", "), storage.AvailableBytes>>30))
	}
	return notes
}

// About returns what the GPU is called by its host.
func (m GPUMapping) About() string { return Plan{}.NameOf(&m.GPU) }
