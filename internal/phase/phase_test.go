package phase_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
)

func TestOf(t *testing.T) {
	t.Parallel()
	const node = "em-infra:index:TalosCluster$em-infra:index:GpuWorker$em-infra:index:TalosNode$"
	for kind, want := range map[string]phase.Phase{
		"pulumi:pulumi:Stack":          phase.Generate,
		"pulumi:providers:proxmoxve":   phase.Generate,
		"em-infra:index:TalosTemplate": phase.Generate,
		"pulumi:providers:truenas":     phase.Provision,
		"em-infra:index:TrueNASStorage$em-infra:index:TrueNASDataset$truenas:index:Dataset":           phase.Provision,
		"em-infra:index:TalosTemplate$talos:imageFactory/schematic:Schematic":                         phase.Generate,
		"em-infra:index:TalosCluster$talos:machine/secrets:Secrets":                                   phase.Generate,
		"em-infra:index:TalosCluster$em-infra:index:GpuWorker$talos:imageFactory/schematic:Schematic": phase.Generate,
		"command:local:Command":                                                               phase.Provision,
		"em-infra:index:TalosTemplate$command:local:Command":                                  phase.Provision,
		"em-infra:index:ProxmoxHost$command:local:Command":                                    phase.Provision,
		"em-infra:index:Container$command:local:Command":                                      phase.Provision,
		node + "proxmoxve:VM/virtualMachine:VirtualMachine":                                   phase.Provision,
		"em-infra:index:TalosCluster$em-infra:index:GpuWorker$proxmoxve:Hardware/mapping:Pci": phase.Provision,
		node + "talos:machine/configurationApply:ConfigurationApply":                          phase.Bootstrap,
		node + "command:local:Command":                                                        phase.Bootstrap,
		"em-infra:index:TalosCluster$talos:machine/bootstrap:Bootstrap":                       phase.Bootstrap,
		"em-infra:index:TalosCluster$talos:cluster/kubeconfig:Kubeconfig":                     phase.Bootstrap,
		"em-infra:index:ClusterAddons":                                                        phase.Addons,
		"em-infra:index:ClusterAddons$pulumi:providers:kubernetes":                            phase.Addons,
		"em-infra:index:ClusterAddons$command:local:Command":                                  phase.Addons,
		"em-infra:index:ClusterAddons$kubernetes:helm.sh/v3:Release":                          phase.Addons,
		"em-infra:index:ClusterAddons$kubernetes:core/v1:Secret":                              phase.Addons,
	} {
		require.Equal(t, want, phase.Of(resource.URN("urn:pulumi:k3s-dev::em-infra::"+kind+"::name")), kind)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, want := range phase.All {
		parsed, err := phase.Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, parsed)
	}
	_, err := phase.Parse("boot")
	require.EqualError(t, err, `"boot" is no phase: choose one of generate, provision, bootstrap, addons, verify`)
}
