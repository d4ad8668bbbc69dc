package inventory

import (
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// slot is a PCI device of one host, or, if device is a number, one of its IOMMU groups.
type slot struct{ host, device string }

// gpus checks the devices that are passed through: every GPU is complete, and no device belongs to two machines. A mapping may
// be named more than once, since it can contain several devices of a host, of which Proxmox VE takes a free one
// (choose_hostpci_devices in qemu-server).
func (c *checker) gpus() {
	devices := map[slot]string{}
	groups := map[slot]int{}
	for i, node := range c.inv.Nodes {
		path := nodePath(i)
		c.gpuRole(node, path)
		for j, gpu := range node.GPUs {
			at := path.Key("gpus").Index(j)
			if !c.gpuForm(gpu, node, j, at) {
				continue
			}
			device := slot{node.Host, string(gpu.BDF)}
			if owner, twice := devices[device]; twice {
				c.node(at.Key("bdf"), fault{
					What: "is " + owner + " too", Rule: "a device goes to one machine", Got: device.device,
					Do: "remove one of them",
				})
			}
			devices[device] = at.String()
			group := slot{node.Host, strconv.Itoa(*gpu.IOMMUGroup)}
			if owner, taken := groups[group]; taken && owner != i {
				c.node(at.Key("iommuGroup"), fault{
					What: "has devices in " + nodePath(owner).String() + " too",
					Rule: "the devices of a group go to one machine", Got: group.device, Do: "give them all to one of the two nodes",
				})
			}
			groups[group] = i
		}
	}
}

// gpuRole checks that GPU workers, and only they, have GPUs.
func (c *checker) gpuRole(node Node, path *strictyaml.Path) {
	at := path.Key("gpus")
	switch {
	case node.Role == RoleGPUWorker && c.inv.nodesSource.Len(at) == 0:
		c.node(at, fault{What: "has no GPU", Rule: "a gpu-worker has at least one", Do: "add one, or choose the role worker"})
	case node.Role != RoleGPUWorker && node.Role != "" && len(node.GPUs) > 0:
		c.node(at, fault{What: "has GPUs", Rule: "only a gpu-worker has", Got: string(node.Role), Do: "remove them, or choose the role gpu-worker"})
	}
}

// gpuForm checks that a GPU is a mapping, or the four facts from which one is created. It reports whether all four are given.
func (c *checker) gpuForm(gpu GPU, node Node, index int, at *strictyaml.Path) (whole bool) {
	facts := []string{"bdf", "deviceId", "subsystemId", "iommuGroup"}
	var given []string
	for _, fact := range facts {
		if c.inv.nodesSource.Has(at.Key(fact)) {
			given = append(given, fact)
		}
	}
	mapping := c.inv.nodesSource.Has(at.Key("mapping"))
	checkName(limits.Mapping, gpu.Mapping, at.Key("mapping"), c.node)
	switch {
	case mapping && len(given) > 0:
		c.node(at, fault{
			What: "has a mapping and " + given[0], Rule: "a mapping by name, or bdf, deviceId, subsystemId and iommuGroup",
			Do: "remove one or the other",
		})
		return false
	case c.inv.nodesSource.Len(at) == 0:
		c.node(at, fault{
			What: "names no device", Rule: "a mapping by name, or bdf, deviceId, subsystemId and iommuGroup",
			Do: "give a mapping",
		})
		return false
	case len(given) == 0:
		return false
	}
	for _, fact := range facts {
		if !c.inv.nodesSource.Has(at.Key(fact)) {
			c.node(at.Key(fact), fault{
				What: "is missing", Rule: "Proxmox VE compares all four when the machine starts",
				Do: "add it; lspci -Dnnv on the host shows it",
			})
		}
	}
	if name := node.MappingName(index); node.Name != "" && !limits.Mapping.Matches(name) {
		c.node(at, fault{
			What: "would be mapped by a name that is not valid in Proxmox VE", Rule: limits.Mapping.Words, Got: name,
			Do: "give the node a name that begins with a letter, or a mapping",
		})
	}
	return gpu.BDF != "" && gpu.DeviceID != "" && gpu.SubsystemID != "" && gpu.IOMMUGroup != nil
}
