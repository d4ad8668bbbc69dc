package stacks

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// Image is the image that Talos on a node should be installed from, according to the inventory.
type Image struct {
	// Schematic is the ID of the schematic from which the Image Factory builds the image; empty if a patch of the inventory names
	// an image from elsewhere.
	Schematic string
	// Installer is the reference of the image, e.g. factory.talos.dev/nocloud-installer/<schematic>:v1.12.4.
	Installer string
}

// Images returns the images of an inventory's nodes, by the name of the node.
func Images(inv *inventory.Inventory, factory *url.URL) (map[string]Image, error) {
	images := make(map[string]Image, len(inv.Nodes))
	for _, node := range inv.Nodes {
		image, err := imageOf(inv.Cluster, node, factory)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", node.Name, err)
		}
		images[node.Name] = image
	}
	return images, nil
}

// imageOf returns the image that the components install a node from.
func imageOf(c inventory.Cluster, n inventory.Node, factory *url.URL) (Image, error) {
	patched, err := components.PatchedInstaller(patches(c.Talos.Patches), machine(c, n))
	if err != nil {
		return Image{}, err
	}
	if patched != "" {
		release, err := nodeops.ReleaseOf(patched)
		return Image{Schematic: release.Schematic, Installer: patched}, err
	}
	schematic := schematic(c)
	if len(n.GPUs) > 0 {
		schematic = schematic.WithDriver(driver(n))
	}
	id, err := schematic.ID()
	return Image{Schematic: id, Installer: components.Installer(factory, c.Talos.Version.String(), id)}, err
}

// TemplateSchematic returns the ID of the schematic that the ISO of an inventory's templates is made from.
func TemplateSchematic(inv *inventory.Inventory) (string, error) { return schematic(inv.Cluster).ID() }

// UnmadeImages returns the names of the gpu-workers whose schematic a run sends to the Image Factory: the state has none of theirs, as that of
// a new worker or one with its first GPU, or another one, as after a change of the driver. former are the nodes' former names.
func UnmadeImages(deployment apitype.DeploymentV3, inv *inventory.Inventory, former map[string]string) (unmade []string, err error) {
	for _, node := range inv.Nodes.GPUWorkers() {
		id, err := schematic(inv.Cluster).WithDriver(driver(node)).ID()
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", node.Name, err)
		}
		component := cmp.Or(former[node.Name], components.NodeName(inv.Cluster.Name, node.Name))
		if !state.HasSchematic(deployment, component, id) {
			unmade = append(unmade, node.Name)
		}
	}
	return unmade, nil
}

func schematic(c inventory.Cluster) components.Schematic {
	return components.Schematic{Extensions: c.Talos.Schematic.Extensions, KernelArgs: c.Talos.Schematic.KernelArgs}
}
