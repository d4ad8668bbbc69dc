package preflight

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve"
)

// driven checks whether a worker's driver supports a device. The devices of a mapping are known only here; the inventory is checked
// against its own data elsewhere. Other functions of a card, such as its sound, need no driver.
func (g gpuHost) driven(worker inventory.Node, device pve.PCIDevice) {
	if worker.Driver == nil || !strings.HasPrefix(bare(device.Class), displayClass) {
		return
	}
	id, driver := deviceID(device), worker.Driver.NVIDIA()
	generation, release := nvidia.GenerationOf(id), driver.Branch.Release(g.talos)
	what := fmt.Sprintf("PCI %s on %s, %s %s (%s)", device.Address, g.name, device.VendorName, device.DeviceName, id)
	misfit := driver.Misfit(generation, release)
	switch {
	case misfit != "":
		g.fail("driver", nvidia.Remedy(g.generationsOf(worker), g.talos), "the driver of %s (%s) does not drive %s: %s", worker.Name, driver.In(g.talos), what, misfit)
	case bare(device.Vendor) != nvidiaVendor:
		g.warn("driver", "give "+worker.Name+" a GPU of NVIDIA's, or bring the driver of this one by talos.schematic and patches", "%s is none of NVIDIA's, and a gpu-worker's image has NVIDIA's driver", what)
	case generation == nvidia.Unknown:
		g.warn("driver", "look for it in NVIDIA's list of supported GPUs; open modules are for Turing and later, proprietary ones for Maxwell to Hopper",
			"whether the driver of %s (%s) drives %s is not known here", worker.Name, driver.In(g.talos), what)
	case driver.DataCenterOnly(release):
		g.warn("driver", fmt.Sprintf("unless it is a data centre GPU, write driver: {branch: production} for %s, or kernelModuleType: proprietary", worker.Name),
			"the open kernel modules of R%d in Talos %s drive data centre GPUs only, and %s may be none", release, g.talos, what)
	}
}

// nvidiaVendor is NVIDIA's PCI vendor ID (pci.ids).
const nvidiaVendor = "10de"

// generationsOf returns the generations of all GPUs that a worker can get.
func (g gpuHost) generationsOf(worker inventory.Node) []nvidia.Generation {
	var generations []nvidia.Generation
	for _, gpu := range worker.GPUs {
		addresses := []string{string(gpu.BDF)}
		for _, mapping := range g.Mappings.Value {
			if gpu.Mapping != "" && mapping.ID == gpu.Mapping {
				addresses = mappedOn(mapping, g.name)
			}
		}
		for _, address := range addresses {
			if device, there := deviceAt(g.Devices.Value, address); there {
				generations = append(generations, nvidia.GenerationOf(deviceID(device)))
			}
		}
	}
	return generations
}
