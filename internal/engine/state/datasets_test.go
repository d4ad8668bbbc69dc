package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

func TestKnownDatasets(t *testing.T) {
	t.Parallel()
	dataset := func(name string) apitype.ResourceV3 {
		return of(token.Dataset, "k3s-dev-storage-"+name, properties{"name": "tank/" + name}, nil)
	}
	d := deployment(dataset("k8s"), replaced(dataset("old")), machine("w-1", 102.0))
	d.PendingOperations = []apitype.OperationV2{
		{Type: apitype.OperationTypeCreating, Resource: dataset("begun")}, {Type: apitype.OperationTypeUpdating, Resource: dataset("k8s")},
		{Type: apitype.OperationTypeCreating, Resource: machine("w-0", 101.0)},
	}
	require.Equal(t, []string{"tank/begun", "tank/k8s"}, state.KnownDatasets(d))
	d.Resources = append(d.Resources, of(token.Account, "k3s-dev-storage-csi", nil, nil))
	require.Equal(t, []tokens.Type{token.Account, token.Dataset}, state.KindsOnNAS(d), "also of what is still to be deleted")
	require.Empty(t, state.KnownDatasets(deployment(machine("w-1", 102.0))))
}

func TestWhatADestroyDeletesOnTheNAS(t *testing.T) {
	t.Parallel()
	kept := of(token.Dataset, "k3s-dev-storage-k8s", nil, nil)
	kept.RetainOnDelete = true
	service := of(token.Service, "k3s-dev-storage-nfs", nil, nil)
	require.False(t, state.DeletesOnNAS(deployment(kept, service, machine("w-1", 102.0))))
	require.True(t, state.DeletesOnNAS(deployment(kept, of(token.Account, "k3s-dev-storage-csi", nil, nil))))
	require.True(t, state.DeletesOnNAS(deployment(of(token.Dataset, "k3s-dev-storage-k8s", nil, nil))))
}
