package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
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
	provider := of(token.TrueNASProvider, "truenas", properties{"endpoint": "https://nas.example"}, nil)
	provider.ID = "0f1e"
	former := replaced(provider)
	former.ID = "abcd"
	with := func(r apitype.ResourceV3, provider apitype.ResourceV3) apitype.ResourceV3 {
		r.Provider = string(provider.URN) + "::" + string(provider.ID)
		return r
	}
	kept := with(of(token.Dataset, "k3s-dev-storage-k8s", nil, nil), provider)
	kept.RetainOnDelete = true
	service := with(of(token.Service, "k3s-dev-storage-nfs", nil, nil), provider)
	account := with(of(token.Account, "k3s-dev-storage-csi", nil, nil), provider)
	dataset := with(of(token.Dataset, "k3s-dev-storage-k8s", nil, nil), provider)
	old := with(replaced(of(token.NFSShare, "k3s-dev-storage-nfs", nil, nil)), former)
	for _, test := range []struct {
		name string
		has  []apitype.ResourceV3
		want []resource.ID
	}{
		{"what stays", []apitype.ResourceV3{kept, service, machine("w-1", 102.0)}, nil},
		{"an account", []apitype.ResourceV3{kept, account}, []resource.ID{"0f1e"}},
		{"a dataset", []apitype.ResourceV3{dataset, account}, []resource.ID{"0f1e"}},
		{"what is still to be deleted", []apitype.ResourceV3{kept, old}, []resource.ID{"abcd"}},
		{"both", []apitype.ResourceV3{account, old}, []resource.ID{"0f1e", "abcd"}},
	} {
		var got []resource.ID
		for found := range state.DeletesOnNAS(deployment(append([]apitype.ResourceV3{provider, former}, test.has...)...)) {
			got = append(got, found.ID)
		}
		require.Equal(t, test.want, got, test.name)
	}
}
