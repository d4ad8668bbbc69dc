package stacks

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
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

// imageOf returns the image that the components use for a node, unless a patch names another. Patches of the cluster are merged
// before a GPU worker gets its own image.
func imageOf(c inventory.Cluster, n inventory.Node, factory *url.URL) (Image, error) {
	schematic, patches := schematic(c), n.Patches
	if len(n.GPUs) > 0 {
		schematic = schematic.WithDriver(driver(n))
	} else {
		patches = slices.Concat(c.Talos.Patches, n.Patches)
	}
	patched, err := patchedInstaller(patches)
	if err != nil {
		return Image{}, err
	}
	if patched != "" {
		return Image{Schematic: schematicIn(patched), Installer: patched}, nil
	}
	id, err := schematic.ID()
	return Image{Schematic: id, Installer: components.Installer(factory, c.Talos.Version.String(), id)}, err
}

func schematic(c inventory.Cluster) components.Schematic {
	return components.Schematic{Extensions: c.Talos.Schematic.Extensions, KernelArgs: c.Talos.Schematic.KernelArgs}
}

// patchedInstaller returns the last image that patches name; empty if none does.
func patchedInstaller(patches []inventory.Patch) (installer string, err error) {
	for _, patch := range patches {
		loaded, err := configpatcher.LoadPatch([]byte(patch))
		if err != nil {
			return "", err
		}
		merge, isMerge := loaded.(configpatcher.StrategicMergePatch)
		if !isMerge {
			continue // the loader refuses the inventory because of it
		}
		document := merge.Provider().RawV1Alpha1()
		if document == nil || document.MachineConfig == nil || document.MachineConfig.MachineInstall == nil {
			continue
		}
		if image := document.MachineConfig.MachineInstall.InstallImage; image != "" {
			installer = image
		}
	}
	return installer, nil
}

// factoryInstaller is an installer image of an Image Factory: FACTORY/PLATFORM-installer/SCHEMATIC:VERSION.
var factoryInstaller = regexp.MustCompile(`installer(-secureboot)?/([0-9a-f]{64})[:@]`)

func schematicIn(installer string) string {
	if match := factoryInstaller.FindStringSubmatch(installer); match != nil {
		return match[2]
	}
	return ""
}
