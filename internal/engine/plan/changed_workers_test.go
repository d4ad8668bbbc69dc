package plan_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

func TestChangedWorkers(t *testing.T) {
	t.Parallel()
	const (
		cluster = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster"
		node    = cluster + "$em-infra:index:TalosNode"
	)
	of := func(name, role string, op apitype.OpType) []plan.Step {
		parent := resource.URN(node + "::" + name)
		return []plan.Step{
			{Op: apitype.OpSame, URN: parent, Parent: cluster + "::k3s-dev"},
			{Op: op, URN: resource.URN(node + "$proxmoxve:VM/virtualMachine:VirtualMachine::" + name + "-vm"), Parent: parent},
			{Op: op, URN: resource.URN(cluster + "$command:local:Command::" + name + "-membership"), Parent: cluster + "::k3s-dev", Old: map[string]any{
				"delete": "em-infra node remove --name " + name + " --address 192.168.20.21 --drain-timeout 5m0s" + role,
			}},
		}
	}
	var steps []plan.Step
	steps = append(steps, of("control-1", " --control-plane", apitype.OpReplace)...)
	steps = append(steps, of("worker-1", "", apitype.OpReplace)...)
	steps = append(steps, of("worker-11", "", apitype.OpSame)...)
	steps = append(steps, plan.Step{Op: apitype.OpCreate, URN: cluster + "$command:local:Command::worker-12-membership"})
	steps = append(steps, of("worker-2", "", apitype.OpUpdate)...)
	steps = append(steps, plan.Step{Op: apitype.OpReplace, URN: cluster + "$command:local:Command::k3s-dev-iso"})
	require.Equal(t, []string{
		node + "::worker-1", node + "$proxmoxve:VM/virtualMachine:VirtualMachine::worker-1-vm", cluster + "$command:local:Command::worker-1-membership",
		node + "::worker-2", node + "$proxmoxve:VM/virtualMachine:VirtualMachine::worker-2-vm", cluster + "$command:local:Command::worker-2-membership",
	}, plan.ChangedWorkers(steps))
	require.Empty(t, plan.ChangedWorkers(nil))
}
