package inventory

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/nvidia"
)

// NVIDIA returns the driver as a type of package nvidia, which contains the supported GPUs.
func (d Driver) NVIDIA() nvidia.Driver {
	return nvidia.Driver{KernelModules: nvidia.KernelModules(d.KernelModuleType), Branch: nvidia.Branch(d.Branch)}
}

// Extensions returns the system extensions of a node's image in addition to talos.schematic: those of its driver.
func (n Node) Extensions() []string {
	if n.Driver == nil {
		return nil
	}
	return n.Driver.NVIDIA().Extensions()
}

// generations returns the generation of each of the node's GPUs; unknown for a GPU from a mapping.
func (n Node) generations() []nvidia.Generation {
	var generations []nvidia.Generation
	for _, gpu := range n.GPUs {
		generations = append(generations, nvidia.GenerationOf(string(gpu.DeviceID)))
	}
	return generations
}

// driver checks that a gpu-worker's driver supports its GPUs, as far as the inventory describes them.
func (c *checker) driver(node Node, path *strictyaml.Path) {
	at := path.Key("driver")
	switch {
	case node.Driver == nil || node.Role == "":
		return
	case node.Role != RoleGPUWorker:
		c.node(at, fault{What: "is of no use", Rule: "only a gpu-worker has GPUs", Got: string(node.Role), Do: "remove it, or choose the role gpu-worker"})
		return
	}
	c.foreignExtensions(node)
	driver, talos := node.Driver.NVIDIA(), c.inv.Cluster.Talos.Version.String()
	for i, generation := range node.generations() {
		misfit := driver.Misfit(generation, driver.Branch.Release(talos))
		if misfit == "" {
			continue
		}
		c.node(at, fault{
			What: fmt.Sprintf("does not drive gpus[%d], %s of %s", i, node.GPUs[i].DeviceID, generation),
			Rule: misfit, Got: driver.In(talos), Do: nvidia.Remedy(node.generations(), talos),
		})
	}
}

// foreignExtensions refuses extensions in the image of all nodes that conflict with a gpu-worker's driver (F38).
func (c *checker) foreignExtensions(node Node) {
	if c.inv.clusterSource == nil {
		return
	}
	for i, extension := range c.inv.Cluster.Talos.Schematic.Extensions {
		if nvidia.IsExtension(extension) && !slices.Contains(node.Extensions(), extension) {
			c.cluster(key("talos", "schematic", "extensions").Index(i), fault{
				What: "does not go with the driver of " + node.Name, Rule: "driver and container toolkit are a pair, which a gpu-worker's image has",
				Got: extension, Do: "remove it",
			})
		}
	}
}
