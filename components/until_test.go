package components_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
)

// TestPartsEndInPhasesThatFit: a part must not end in an earlier phase than what is made from it needs.
func TestPartsEndInPhasesThatFit(t *testing.T) {
	t.Parallel()
	const (
		noAPI = `cluster addons "k3s-dev-addons": Cluster: its Until ends before PhaseBootstrap, so nothing can be installed in it: give both in a later phase`
		noVM  = `talos cluster "k3s-dev": Templates[0]: its Until ends before PhaseProvision, and there is nothing to clone: give the template the Until of what is made from it`
	)
	for _, test := range []struct {
		name              string
		template, cluster components.Phase
		addons            bool
		want              string
	}{
		{"addons of a whole cluster", 0, 0, true, ""},
		{"addons of one that is configured", 0, components.PhaseBootstrap, true, ""},
		{"addons of machines", 0, components.PhaseProvision, true, noAPI},
		{"addons of secrets", 0, components.PhaseGenerate, true, noAPI},
		{"machines of a schematic", components.PhaseGenerate, 0, false, noVM},
		{"machines without a configuration, of a schematic", components.PhaseGenerate, components.PhaseProvision, false, noVM},
		{"secrets and a schematic", components.PhaseGenerate, components.PhaseGenerate, false, ""},
		{"machines of a template", components.PhaseProvision, 0, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
				template := templateFixture("vmhost")
				template.Until = test.template
				made, err := components.NewTalosTemplate(ctx, "template", template, providers)
				if err != nil {
					return err
				}
				args := clusterFixture("k3s-dev", machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11))
				args.Templates, args.Until = []*components.TalosTemplate{made}, test.cluster
				cluster, err := components.NewTalosCluster(ctx, "k3s-dev", args, providers)
				if err != nil || !test.addons {
					return err
				}
				_, err = components.NewClusterAddons(ctx, "k3s-dev-addons", &components.ClusterAddonsArgs{Cluster: cluster}, providers)
				return err
			})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
