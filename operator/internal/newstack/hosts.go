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
	p.leaveOutConfigured(len(answers.Hosts) > 0)
	if !p.readings() || len(p.problems) > 0 {
		return HostsPlan{Answers: p.Answers, site: s}, errors.Join(p.problems...)
	}
	return HostsPlan{Answers: p.Answers, Local: p.installedFolder(), Mappings: p.unmappedGPUs(), site: s}, nil
}

// leaveOutConfigured leaves out the hosts that another stack configures. Those that a person has named are refused.
func (p *proposal) leaveOutConfigured(named bool) {
	var free []string
	var reasons []string
	for _, host := range p.Hosts {
		if maker, has := p.site.Makers.Of(host); has {
			reasons = append(reasons, fmt.Sprintf("host %s is configured by another stack already (%s)", host, maker.Place))
			continue
		}
		free = append(free, host)
	}
	if len(reasons) > 0 && (named || len(free) == 0) {
		p.problem("%s: name others with --host", strings.Join(reasons, ", "))
	}
	p.Hosts = free
}

// installedFolder returns the content types of the installer's folder with those that other stacks need.
func (p *proposal) installedFolder() []string {
	var content []string
	for _, host := range p.Hosts {
		storage := p.storage(host, installedStorage)
		if storage.Type != folderType {
			return nil
		}
		content = strings.Split(union(storage.Content, content...), ",")
	}
	content = strings.Split(union(strings.Join(content, ","), forAllStacks...), ",")
	slices.Sort(content)
	return content
}

// unmappedGPUs returns the GPUs of the hosts that could be passed through and have no mapping, each with a name for one.
func (p *proposal) unmappedGPUs() []GPUMapping {
	var mappings []GPUMapping
	names := p.mappingNames()
	for _, host := range p.Hosts {
		free, _ := p.site.Found.FreeGPUs(host, p.Defaults.Talos.Version.String())
		for _, gpu := range free {
			if _, is := p.taken.gpuOf(gpu); is || gpu.Mapping != "" || p.isMapped(gpu) {
				continue
			}
			name := mappingName(gpu.Device)
			for number := 2; names[name]; number++ {
				name = fmt.Sprintf("%s-%d", mappingName(gpu.Device), number)
			}
			names[name] = true
			mappings = append(mappings, GPUMapping{Name: name, GPU: gpu})
		}
	}
	return mappings
}

// mappingNames returns the names of mappings that exist, or that other stacks of hosts make.
func (p *proposal) mappingNames() map[string]bool {
	names := map[string]bool{}
	for _, host := range p.site.Found.Hosts {
		for _, mapping := range host.Mappings.Value {
			names[mapping.ID] = true
		}
	}
	for _, maker := range p.site.Makers {
		for _, mapping := range maker.Inventory.File.Mappings {
			names[mapping.Name] = true
		}
	}
	return names
}

// isMapped reports whether a mapping has a device, perhaps beside others.
func (p *proposal) isMapped(gpu preflight.FreeGPU) bool {
	return slices.ContainsFunc(p.site.Found.Hosts[gpu.Host].Mappings.Value, func(mapping pve.Mapping) bool {
		return slices.ContainsFunc(mapping.Map, func(one string) bool {
			return strings.Contains(one, "node="+gpu.Host) && strings.Contains(one, "path="+gpu.Device.Address)
		})
	})
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
