package birth_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/birth"
)

func TestRenameFollowsEveryReference(t *testing.T) {
	t.Parallel()

	const (
		cluster    = resource.URN("urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster::k3s-dev")
		below      = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$"
		vm         = "em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::"
		apply      = "em-infra:index:TalosNode$talos:machine/configurationApply:ConfigurationApply::"
		membership = "command:local:Command::"
	)
	state := func(name string) apitype.DeploymentV3 {
		urn := func(kind, suffix string) resource.URN { return resource.URN(below + kind + name + suffix) }
		node := urn("em-infra:index:TalosNode::", "")
		return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
			{URN: cluster, Type: "em-infra:index:TalosCluster"},
			{URN: node, Type: "em-infra:index:TalosNode", Parent: cluster},
			{URN: urn(vm, "-vm"), Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Parent: node, Inputs: map[string]any{"name": "worker-1"}},
			{
				URN: urn(apply, "-configuration"), Parent: node, ReplaceWith: []resource.URN{urn(vm, "-vm")}, DeletedWith: urn(vm, "-vm"),
				PropertyDependencies: map[resource.PropertyKey][]resource.URN{"node": {urn(vm, "-vm")}},
			},
			{
				URN: urn(membership, "-membership"), Type: "command:local:Command", Parent: cluster, DeletedWith: cluster,
				Dependencies: []resource.URN{urn(vm, "-vm"), urn(apply, "-configuration")}, ReplaceWith: []resource.URN{urn(vm, "-vm")},
			},
			{URN: resource.URN(below + membership + "k3s-dev-worker-10-membership"), Type: "command:local:Command", Parent: cluster},
		}}
	}
	deployment := state("k3s-dev-worker-1")
	birth.Rename(&deployment, "k3s-dev-worker-1", "k3s-dev-blue-1")
	require.Equal(t, state("k3s-dev-blue-1"), deployment)
}
