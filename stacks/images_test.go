package stacks_test

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

var officialFactory = &url.URL{Scheme: "https", Host: "factory.talos.dev"}

// TestImagesAreWhatTheProgramInstalls compares Images with the installer images in the nodes' configurations.
func TestImagesAreWhatTheProgramInstalls(t *testing.T) {
	t.Parallel()
	for _, name := range inventories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, err := inventory.Load(filepath.Join("..", fixture(name).Inventory))
			require.NoError(t, err)
			images, err := stacks.Images(inv, officialFactory)
			require.NoError(t, err)
			require.Len(t, images, len(inv.Nodes))

			r, err := runWith(t, fixture(name), reachable(nil))
			require.NoError(t, err)
			for _, node := range inv.Nodes {
				require.Equal(t, installerOf(t, r, inv.Cluster.Name, node.Name), images[node.Name].Installer, node.Name)
				require.Contains(t, images[node.Name].Installer, images[node.Name].Schematic+":")
			}
		})
	}
}

var installer = regexp.MustCompile(`image: (\S+installer\S+)`)

// installerOf returns the last image that the patches of a node's configuration name: first those of the base, then the node's
// own.
func installerOf(t *testing.T, r *recorder.Recorder, cluster, node string) string {
	t.Helper()
	var patches []string
	for _, call := range r.Calls {
		texts := textsIn(call.Args["configPatches"])
		if strings.Contains(strings.Join(texts, "\n"), "hostname: "+node+"\n") {
			patches = append(patches, texts...)
		}
	}
	for _, args := range r.Resources {
		if strings.HasSuffix(args.Name, node+"-configuration") {
			patches = append(patches, textsIn(args.Inputs["configPatches"])...)
		}
	}
	found := installer.FindAllStringSubmatch(strings.Join(patches, "\n"), -1)
	require.NotEmpty(t, found, "%s of %s", node, cluster)
	return found[len(found)-1][1]
}

// textsIn returns the texts of an array, with what is secret among them.
func textsIn(array resource.PropertyValue) []string {
	if array.IsSecret() {
		array = array.SecretValue().Element
	}
	if !array.IsArray() {
		return nil
	}
	var texts []string
	for _, text := range array.ArrayValue() {
		if text.IsString() {
			texts = append(texts, text.StringValue())
		}
	}
	return texts
}

func TestAPatchHasTheLastWordOnTheImage(t *testing.T) {
	t.Parallel()
	const elsewhere, ours = "ghcr.io/siderolabs/installer:v1.12.4", "factory.example.org/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	inv, err := inventory.Load(filepath.Join("..", fixture("gpus-of-one-mapping").Inventory))
	require.NoError(t, err)
	inv.Cluster.Talos.Patches = append(inv.Cluster.Talos.Patches, "machine: {install: {image: "+elsewhere+"}}", "machine: {sysctls: {vm.max_map_count: \"262144\"}}")
	plain, gpu := -1, -1
	for i, node := range inv.Nodes {
		if len(node.GPUs) > 0 {
			gpu = i
		} else {
			plain = i
		}
	}

	images, err := stacks.Images(inv, officialFactory)
	require.NoError(t, err)
	require.Equal(t, stacks.Image{Installer: elsewhere}, images[inv.Nodes[plain].Name])
	require.NotEqual(t, elsewhere, images[inv.Nodes[gpu].Name].Installer, "its own image is merged after the cluster's patches")

	inv.Nodes[gpu].Patches = append(inv.Nodes[gpu].Patches, "machine: {install: {image: "+ours+"}}")
	images, err = stacks.Images(inv, officialFactory)
	require.NoError(t, err)
	require.Equal(t, stacks.Image{Installer: ours, Schematic: schematicID(t, components.Schematic{})}, images[inv.Nodes[gpu].Name])
}

// Two workers that want different drivers get different images, of one template.
func TestEachGPUWorkerHasTheImageOfItsDriver(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load(filepath.Join("..", fixture("gpu-drivers").Inventory))
	require.NoError(t, err)
	images, err := stacks.Images(inv, officialFactory)
	require.NoError(t, err)
	for node, driver := range map[string]components.NVIDIADriver{
		"gpu-1": components.NVIDIAProprietary, "gpu-2": components.NVIDIAProprietary, "gpu-3": components.NVIDIAProprietaryProduction,
		"gpu-4": components.NVIDIAOpenProduction, "gpu-5": components.NVIDIAProprietary,
	} {
		require.Equal(t, schematicID(t, components.Schematic{}.WithDriver(driver)), images[node].Schematic, node)
	}
	require.Equal(t, schematicID(t, components.Schematic{}), images["cp-1"].Schematic)
}

// A run asks the factory for the images of workers whose drivers change, and of those that the state does not know.
func TestImagesThatAreNotMadeYet(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load(filepath.Join("..", fixture("gpu-drivers").Inventory))
	require.NoError(t, err)
	var made apitype.DeploymentV3
	for component, driver := range map[string]components.NVIDIADriver{
		"gpu-1": components.NVIDIAProprietary, "gpu-2": components.NVIDIAOpen, "former": components.NVIDIAProprietaryProduction,
		"gpu-4": components.NVIDIAOpenProduction,
	} {
		urn := resource.NewURN("home", "em-infra", "", token.Schematic, components.NodeName(inv.Cluster.Name, component)+"-image-schematic")
		id := resource.ID(schematicID(t, components.Schematic{}.WithDriver(driver)))
		made.Resources = append(made.Resources, apitype.ResourceV3{URN: urn, Type: token.Schematic, ID: id})
	}
	unmade, err := stacks.UnmadeImages(made, inv, map[string]string{"gpu-3": components.NodeName(inv.Cluster.Name, "former")})
	require.NoError(t, err)
	require.Equal(t, []string{"gpu-2", "gpu-5"}, unmade)
}

func schematicID(t testing.TB, s components.Schematic) string {
	t.Helper()
	id, err := s.ID()
	require.NoError(t, err)
	return id
}
