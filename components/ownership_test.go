package components_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/recorder"
)

// TestMachinesSayWhoseTheyAre: the templates, which are registered before the cluster, and its nodes.
func TestMachinesSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	r, err := recorder.Run(t, func(ctx *pulumi.Context) error {
		_, err := ownedCluster(ctx, "k3s-dev")
		return err
	})
	require.NoError(t, err)
	mark := ownership.Owner{Stack: recorder.Stack, Cluster: ownership.Short("made-up id")}.Mark()
	var found []string
	for _, registered := range r.Resources {
		if registered.TypeToken == "proxmoxve:VM/virtualMachine:VirtualMachine" {
			found = append(found, registered.Inputs["description"].StringValue())
		}
	}
	require.ElementsMatch(t, []string{
		"Talos v1.12.4, " + mark + ". Nodes are cloned from it.", "Talos control-plane, " + mark + ".", "Talos worker, " + mark + ".",
	}, found)
}

// TestAClusterThatDoesNotCome: a program that fails before it creates its cluster ends with that error.
func TestAClusterThatDoesNotCome(t *testing.T) {
	t.Parallel()
	_, err := recorder.Run(t, func(ctx *pulumi.Context) error {
		owner, err := ownedCluster(ctx, "")
		owner.Abandon(ctx, err)
		return err
	})
	require.ErrorContains(t, err, "ClusterName")
}

func ownedCluster(ctx *pulumi.Context, name string) (*components.Ownership, error) {
	owner := components.NewOwnership(ctx)
	providers, err := providers(ctx)
	if err != nil {
		return owner, err
	}
	templated := templateFixture("vmhost")
	templated.Ownership = owner
	template, err := components.NewTalosTemplate(ctx, "template", templated, providers)
	if err != nil {
		return owner, err
	}
	args := clusterFixture("k3s-dev", machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11), machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
	args.ClusterName, args.Templates, args.Ownership = name, []*components.TalosTemplate{template}, owner
	_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
	return owner, err
}
