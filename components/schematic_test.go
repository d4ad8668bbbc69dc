package components_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

// schematicID returns what the Image Factory calls a schematic.
func schematicID(t testing.TB, s components.Schematic) string {
	t.Helper()
	id, err := s.ID()
	require.NoError(t, err)
	return id
}

func TestTheIDOfASchematicIsTheImageFactorys(t *testing.T) {
	t.Parallel()
	// The ID of plain Talos, as the factory's own documentation gives it (image-factory, README.md).
	require.Equal(t, "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba", schematicID(t, components.Schematic{}))
	require.NotEqual(t, schematicID(t, components.Schematic{}), schematicID(t, components.Schematic{KernelArgs: []string{"net.ifnames=0"}}))
}

func TestAnotherSchematicIsKnownToAPreviewAsAnotherImage(t *testing.T) {
	t.Parallel()
	for _, schematic := range []components.Schematic{{}, {Extensions: []string{"siderolabs/iscsi-tools"}}, {KernelArgs: []string{"net.ifnames=0"}}} {
		r, err := run(t, true, oneTemplate(func(args *components.TalosTemplateArgs) { args.Schematic = schematic }))
		require.NoError(t, err)
		template := r.Named(t, tokenVM, "template-vm").Inputs
		require.Equal(t, "local:iso/talos-v1.12.4-nocloud-"+schematicID(t, schematic)[:16]+"-amd64.iso", template["cdrom"].ObjectValue()["fileId"].StringValue())
		registered := r.Named(t, tokenSchematic, "template-image-schematic").RegisterRPC
		require.Equal(t, []string{"schematic"}, registered.GetReplaceOnChanges(), "a resource that is changed in place keeps the ID of the first schematic")
	}
}

func TestAFactoryThatComputesAnotherIDIsRefused(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		program program
		refused []string
	}{
		"template-vm": {oneTemplate(func(*components.TalosTemplateArgs) {}), []string{"template-iso", "template-vm"}},
		"gpu-1-vm":    {oneGPUWorker(components.Schematic{}, ""), []string{"template-iso", "template-vm", "gpu-1-vm"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, false, test.program, recorder.FactoryAnswers(other))
			require.ErrorContains(t, err, `schematic "template": the Image Factory returned the ID `+other+", but "+
				schematicID(t, components.Schematic{})+" was computed: its images would not be the requested ones; "+
				"name another factory in em-infra:imageFactoryUrl, or take a release of em-infra that knows its schematics")
			for _, token := range []string{tokenCommand, tokenVM} {
				for _, never := range test.refused {
					require.NotContains(t, r.Resources, recorder.Key(token, never), "nothing is made from an image that is another one")
				}
			}
		})
	}
}
