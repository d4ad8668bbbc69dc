package stacks

import (
	"fmt"
	"net/url"

	"github.com/em-infra/em-infra/components"
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

func schematic(c inventory.Cluster) components.Schematic {
	return components.Schematic{Extensions: c.Talos.Schematic.Extensions, KernelArgs: c.Talos.Schematic.KernelArgs}
}
