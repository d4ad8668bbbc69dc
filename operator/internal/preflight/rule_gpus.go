package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve"
)

func checkGPUs(s *collector, inv *inventory.Inventory, found Snapshot) {
	for _, name := range onlineHosts(inv, found) {
		host := found.Hosts[name]
		workers := inv.Nodes.OnHost(name).GPUWorkers()
		if host.Devices.Err != nil || host.Mappings.Err != nil {
			if len(workers) > 0 {
				s.unread("gpu", "the PCI devices of "+name, firstError(host.Devices.Err, host.Mappings.Err))
			}
			continue
		}
		g := gpuHost{collector: s, name: name, talos: inv.Cluster.Talos.Version.String(), Host: host, strangers: strangers(inv, found), configs: found.Configs, remedy: found.Makers.mappingRemedy}
		for _, worker := range workers {
			for _, gpu := range worker.GPUs {
				g.check(worker, gpu)
			}
		}
		g.mappingsSuffice(workers)
		if len(workers) > 0 {
			s.passthrough("gpu", name, Fail, host.Passthrough, host.Devices.Value, g.taken(workers))
		}
		g.offer(workers)
	}
}

func firstError(errs ...error) error {
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}

// gpuHost is a host whose devices are checked.
type gpuHost struct {
	*collector
	Host
	name      string
	talos     string
	strangers []pve.Guest
	configs   map[int]Reading[pve.GuestConfig]
	// remedy returns what to do about a missing mapping: the run of the stack that makes it, or the text otherwise if no stack does.
	remedy func(mapping, otherwise string) action
}

// check checks one GPU of a worker.
func (g gpuHost) check(worker inventory.Node, gpu inventory.GPU) {
	if gpu.Mapping != "" {
		g.checkMapping(worker, gpu.Mapping)
		return
	}
	device, there := deviceAt(g.Devices.Value, string(gpu.BDF))
	hasGroup := device.IOMMUGroup >= 0
	if !hasGroup {
		gpu.IOMMUGroup = nil // the finding is about the host, see passthrough
	}
	switch facts := differs(gpu, device); {
	case !there:
		g.fail("gpu", g.choices(), "PCI %s of %s is not on %s", gpu.BDF, worker.Name, g.name)
	case len(facts) > 0:
		g.fail("gpu", gpuLine(device), "PCI %s on %s has %s", gpu.BDF, g.name, strings.Join(facts, " and "))
	case hasGroup:
		g.judge(worker, device)
	}
}

// choices returns the lines for devices that could be passed through instead.
func (g gpuHost) choices() string {
	var lines []string
	for _, device := range gpusOn(g.Devices.Value) {
		lines = append(lines, gpuLine(device))
	}
	if len(lines) == 0 {
		return fmt.Sprintf("look with `lspci -Dnn` on %s: it shows no GPU to Proxmox VE", g.name)
	}
	return strings.Join(lines, "  or  ")
}

func (g gpuHost) checkMapping(worker inventory.Node, name string) {
	at := slices.IndexFunc(g.Mappings.Value, func(mapping pve.Mapping) bool { return mapping.ID == name })
	if at < 0 {
		g.lacks("gpu", g.remedy(name, "name another mapping, or paste "+g.choices()), "mapping %s of %s is not in Proxmox VE, or the token may not use it", name, worker.Name)
		return
	}
	mapping := g.Mappings.Value[at]
	addresses := mappedOn(mapping, g.name)
	if len(addresses) == 0 {
		g.fail("gpu", "add a device of that host to it under Datacenter, Resource Mappings", "mapping %s has no device on %s", name, g.name)
		return
	}
	if g.hasNoIOMMU(addresses) {
		return // the finding is about the host, see passthrough; no mapping fits it now
	}
	for _, finding := range mapping.Checks {
		if finding.Severity == "error" {
			g.fail("gpu", "correct it under Datacenter, Resource Mappings", "mapping %s does not fit %s: %s", name, g.name, strings.TrimSpace(finding.Message))
			return
		}
	}
	for _, address := range addresses {
		if device, there := deviceAt(g.Devices.Value, address); there {
			g.judge(worker, device)
		}
	}
}

// hasNoIOMMU reports whether one of the devices is in no IOMMU group.
func (g gpuHost) hasNoIOMMU(addresses []string) bool {
	return slices.ContainsFunc(addresses, func(address string) bool {
		device, there := deviceAt(g.Devices.Value, address)
		return there && device.IOMMUGroup < 0
	})
}

// judge checks whether a device is free for a worker, and whether the worker's driver supports it.
func (g gpuHost) judge(worker inventory.Node, device pve.PCIDevice) {
	mark := len(g.checks)
	g.free(device)
	g.driven(worker, device)
	if g.sound(mark) {
		g.ok("gpu", "PCI %s on %s is %s %s and free", device.Address, g.name, device.VendorName, device.DeviceName)
	}
}

// mappingsSuffice checks that each mapping has a device for every GPU that names it.
func (g gpuHost) mappingsSuffice(workers inventory.Nodes) {
	uses := map[string]int{}
	for _, worker := range workers {
		for _, gpu := range worker.GPUs {
			uses[gpu.Mapping]++
		}
	}
	for _, mapping := range g.Mappings.Value {
		if has := len(mappedOn(mapping, g.name)); has > 0 && uses[mapping.ID] > has {
			g.fail("gpu", "add devices to it under Datacenter, Resource Mappings, or remove GPUs from nodes.yaml",
				"mapping %s has %s on %s, and %d are asked for", mapping.ID, counted(has, "device"), g.name, uses[mapping.ID])
		}
	}
}

// free checks whether a device is alone in its IOMMU group and not used by another machine.
func (g gpuHost) free(device pve.PCIDevice) {
	for _, other := range g.Devices.Value {
		if other.IOMMUGroup == device.IOMMUGroup && slot(other.Address) != slot(device.Address) {
			g.fail("gpu", "put the card into another slot of the host, or turn on ACS in its firmware",
				"PCI %s on %s shares IOMMU group %d with %s (%s %s)", device.Address, g.name, device.IOMMUGroup, other.Address, other.VendorName, other.DeviceName)
		}
	}
	for _, guest := range g.holders(device) {
		remedy := fmt.Sprintf("remove its hostpci from %s, or choose another device", Described(guest))
		if guest.Status == "running" {
			g.fail("gpu", remedy, "PCI %s on %s is in use by %s", device.Address, g.name, Described(guest))
		} else {
			g.warn("gpu", remedy, "PCI %s on %s is given to %s too, which is off", device.Address, g.name, Described(guest))
		}
	}
}

// holders returns the host's other guests that use a device, directly or by a mapping.
func (g gpuHost) holders(device pve.PCIDevice) []pve.Guest {
	return slices.DeleteFunc(slices.Clone(g.strangers), func(guest pve.Guest) bool {
		addresses, mappings := passed(g.configs[guest.VMID].Value)
		for _, mapping := range g.Mappings.Value {
			if slices.Contains(mappings, mapping.ID) {
				for _, path := range pathsOn(mapping, g.name) {
					addresses = append(addresses, strings.Split(path, ";")...)
				}
			}
		}
		holds := slices.ContainsFunc(addresses, func(address string) bool { return covers(address, device.Address) })
		return guest.Node != g.name || !holds
	})
}

// taken returns the addresses of the devices that workers have.
func (g gpuHost) taken(workers inventory.Nodes) []string {
	var taken []string
	for _, worker := range workers {
		for _, gpu := range worker.GPUs {
			if gpu.Mapping == "" {
				taken = append(taken, string(gpu.BDF))
				continue
			}
			for _, mapping := range g.Mappings.Value {
				if mapping.ID == gpu.Mapping {
					taken = append(taken, mappedOn(mapping, g.name)...)
				}
			}
		}
	}
	return taken
}

// offer reports the GPUs that no node uses, each with its line for nodes.yaml.
func (g gpuHost) offer(workers inventory.Nodes) {
	taken := g.taken(workers)
	for _, device := range gpusOn(g.Devices.Value) {
		if slices.Contains(taken, device.Address) || device.IOMMUGroup < 0 || len(g.holders(device)) > 0 {
			continue
		}
		if _, driven := nvidia.Fitting([]nvidia.Generation{nvidia.GenerationOf(deviceID(device))}, g.talos); !driven {
			g.ok("gpu", "PCI %s on %s is %s %s, which no driver of Talos %s drives", device.Address, g.name, device.VendorName, device.DeviceName, g.talos)
			continue
		}
		g.add(Check{
			Name: "gpu", Result: OK, Remedy: gpuLine(device),
			Sentence: fmt.Sprintf("PCI %s on %s is %s %s, and no node has it", device.Address, g.name, device.VendorName, device.DeviceName),
		})
	}
}
