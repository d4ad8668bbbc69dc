package stacks_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

// TestARunUntilAPhaseRegistersItsPart: a run registers the resources of the phases so far and no others.
func TestARunUntilAPhaseRegistersItsPart(t *testing.T) {
	t.Parallel()
	whole, err := runWith(t, fixture("every-key"), reachable(nil))
	require.NoError(t, err)
	for _, until := range []components.Phase{components.PhaseGenerate, components.PhaseProvision, components.PhaseBootstrap, components.PhaseAddons} {
		t.Run(until.String(), func(t *testing.T) {
			t.Parallel()
			options := fixture("every-key")
			options.Until = until
			part, err := runWith(t, options, reachable(nil))
			require.NoError(t, err)

			wanted := made(whole, until)
			require.NotEmpty(t, wanted)
			require.Equal(t, wanted, made(part, components.PhaseAddons))
		})
	}
}

// made returns the resources of the phases so far, without components.
func made(r *recorder.Recorder, until components.Phase) []string {
	var keys []string
	for key, args := range r.Resources {
		urn := resource.NewURN(recorder.Stack, recorder.Project, parentType(args), tokens.Type(args.TypeToken), args.Name)
		if args.Custom && until.Reaches(phase.Of(urn)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func parentType(args pulumi.MockResourceArgs) tokens.Type {
	if args.RegisterRPC.GetParent() == "" {
		return ""
	}
	return resource.URN(args.RegisterRPC.GetParent()).QualifiedType()
}

func TestOutputsOfAPhaseAreThoseThatAreThere(t *testing.T) {
	t.Parallel()
	options := stacks.Options{Root: "..", Until: components.PhaseProvision}
	r, err := runWith(t, options, reachable(nil))
	require.NoError(t, err)
	require.Contains(t, r.Exports, stacks.OutputTalosconfig)
	require.NotContains(t, r.Exports, stacks.OutputKubeconfig)
}

// TestConfigurationsAreTherePhasesBeforeTheyAreApplied: planned configurations exist from the first phase on. They contain the
// settings of a GPU worker, and not the user's own patches of a node, which may contain credentials of a registry.
func TestConfigurationsAreTherePhasesBeforeTheyAreApplied(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	planned := map[string]string{}
	options := fixture("every-key")
	options.Until = components.PhaseGenerate
	options.Planned = func(node, configuration string) {
		mutex.Lock()
		defer mutex.Unlock()
		planned[node] = configuration
	}
	_, err := runWith(t, options, reachable(nil), recorder.Generates("version: v1alpha1\nmachine:\n  type: worker\ncluster: {}\n"))
	require.NoError(t, err)

	inv, err := inventory.Load(filepath.Join("..", options.Inventory))
	require.NoError(t, err)
	require.Len(t, planned, len(inv.Nodes))
	for _, node := range inv.Nodes {
		text := planned[components.NodeName(inv.Cluster.Name, node.Name)]
		require.Contains(t, text, "type: worker", node.Name)
		if len(node.GPUs) > 0 {
			require.Contains(t, text, "name: nvidia", node.Name)
		}
		for label := range node.Labels {
			require.Contains(t, text, label+": ", node.Name)
		}
	}
}
