package recovery_test

import (
	"encoding/json"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	stored "github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// standing returns a state with a cluster: two configured machines, one without a configuration, a bootstrap, and a resource in the
// cluster.
func standing() *apitype.DeploymentV3 {
	of := func(qualified, kind tokens.Type, name string) apitype.ResourceV3 {
		return apitype.ResourceV3{URN: resource.NewURN("k3s-dev", "em-infra", qualified, kind, name), Type: kind, Custom: true}
	}
	node := func(name, address string, configured bool) []apitype.ResourceV3 {
		component := of("em-infra:index:TalosCluster", "em-infra:index:TalosNode", name)
		component.Custom = false
		vm := of("em-infra:index:TalosCluster$em-infra:index:TalosNode", "proxmoxve:VM/virtualMachine:VirtualMachine", name+"-vm")
		vm.Parent, vm.Inputs, vm.Outputs = component.URN, map[string]any{"name": name}, map[string]any{"name": name, "id": "101"}
		if !configured {
			return []apitype.ResourceV3{component, vm}
		}
		configuration := of("em-infra:index:TalosCluster$em-infra:index:TalosNode", "talos:machine/configurationApply:ConfigurationApply", name+"-configuration")
		configuration.Parent, configuration.Inputs = component.URN, map[string]any{
			"node": address, "machineConfigurationInput": map[string]any{sig.Key: sig.Secret, "plaintext": `"version: v1alpha1\n"`},
		}
		configuration.Outputs = configuration.Inputs
		return []apitype.ResourceV3{component, vm, configuration}
	}
	d := &apitype.DeploymentV3{}
	d.Resources = append(d.Resources, node("cp-1", "192.168.20.11", true)...)
	d.Resources = append(d.Resources, node("w-1", "192.168.20.21", true)...)
	d.Resources = append(d.Resources, node("w-2", "192.168.20.22", false)...)
	bootstrap := of("em-infra:index:TalosCluster", "talos:machine/bootstrap:Bootstrap", "k3s-dev-bootstrap")
	kubeconfig := of("em-infra:index:TalosCluster", "talos:cluster/kubeconfig:Kubeconfig", "k3s-dev-kubeconfig")
	kubeconfig.Dependencies = []resource.URN{bootstrap.URN}
	addons := of("", "em-infra:index:ClusterAddons", "k3s-dev-addons")
	addons.Custom = false
	gate := of("em-infra:index:ClusterAddons", "command:local:Command", "k3s-dev-addons-api")
	provider := of("em-infra:index:ClusterAddons", "pulumi:providers:kubernetes", "k3s-dev-addons-kubernetes")
	provider.Dependencies = []resource.URN{gate.URN}
	release := of("em-infra:index:ClusterAddons", "kubernetes:helm.sh/v3:Release", "k3s-dev-addons-cilium")
	d.Resources = append(d.Resources, bootstrap, kubeconfig, addons, gate, provider, release)
	return d
}

func namesIn(d *apitype.DeploymentV3) []string {
	var names []string
	for _, r := range d.Resources {
		names = append(names, r.URN.Name())
	}
	return names
}

func TestAConfigurationThatWasLostIsNoted(t *testing.T) {
	t.Parallel()
	d, machines := standing(), stored.ConfiguredMachines(*standing())
	require.NoError(t, recovery.Unapply(d, machines[1]))
	require.Equal(t, standing().Resources[:5], d.Resources[:5], "the machine itself stays as it is, and so does the other node")
	for _, properties := range []map[string]any{d.Resources[5].Inputs, d.Resources[5].Outputs} {
		plain, err := propertymap.Unseal(properties)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"node": "192.168.20.21", "machineConfigurationInput": "version: v1alpha1\n# Made for the machine with the UUID none\n"}, plain)
		require.NotEqual(t, plain, properties, "it is secret as before")
	}

	d = standing()
	d.Resources[2].Outputs = map[string]any{"machineConfigurationInput": map[string]any{sig.Key: sig.Secret, "ciphertext": "v1:x"}}
	require.ErrorIs(t, recovery.Unapply(d, machines[0]), propertymap.ErrSealed)
}

func TestALostClusterIsForgottenAndItsMachinesAreNot(t *testing.T) {
	t.Parallel()
	d := standing()
	require.Equal(t, 4, recovery.LoseCluster(d))
	require.Equal(t, []string{
		"cp-1", "cp-1-vm", "cp-1-configuration", "w-1", "w-1-vm", "w-1-configuration", "w-2", "w-2-vm",
		"k3s-dev-kubeconfig", "k3s-dev-addons",
	}, namesIn(d))
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(text), "k3s-dev-addons-api", "nothing refers to what is gone")
	require.NotContains(t, string(text), "k3s-dev-bootstrap")
}
