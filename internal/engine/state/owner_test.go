package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
)

func secrets(outputs properties) apitype.ResourceV3 {
	return of(token.Secrets, "k3s-dev-secrets", nil, outputs)
}

func TestOwnerOf(t *testing.T) {
	t.Parallel()
	bundle := properties{"cluster": properties{"id": "ID of the cluster"}}
	for _, test := range []struct {
		name       string
		deployment apitype.DeploymentV3
		want       ownership.Owner
		err        string
	}{
		{"without a cluster", deployment(machine("w-1", 102.0)), ownership.Owner{Stack: "k3s-dev"}, ""},
		{"of a cluster", deployment(secrets(properties{"machineSecrets": sealed(t, bundle)})), ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short("ID of the cluster")}, ""},
		{"of a replaced cluster", deployment(replaced(secrets(properties{"machineSecrets": bundle}))), ownership.Owner{Stack: "k3s-dev"}, ""},
		{"without an ID", deployment(secrets(nil)), ownership.Owner{Stack: "k3s-dev"}, "the machine secrets in the state hold no ID of the cluster: restore the state from a backup"},
		{"encrypted", deployment(secrets(properties{"machineSecrets": encrypted()})), ownership.Owner{Stack: "k3s-dev"}, propertymap.ErrSealed.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			owner, err := state.OwnerOf("k3s-dev", test.deployment)
			require.Equal(t, test.want, owner)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	mine, theirs := ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short("one")}, ownership.Owner{Stack: "k3s-copy", Cluster: ownership.Short("two")}
	marked := func(name string, owner ownership.Owner) apitype.ResourceV3 {
		return of(token.VirtualMachine, name, properties{"description": owner.Mark()}, nil)
	}
	require.Equal(t, []ownership.Owner{theirs, mine}, state.Owners(deployment(
		marked("a", theirs), marked("b", mine), machine("c", 103.0), replaced(marked("d", mine)), of(token.Command, "e", properties{"description": mine.Mark()}, nil),
	)))
}

func TestUnbootstrapped(t *testing.T) {
	t.Parallel()
	bootstrap := of(token.Bootstrap, "k3s-dev-bootstrap", nil, nil)
	d := deployment(machine("w-1", 102.0), secrets(nil), replaced(bootstrap))
	require.Same(t, &d.Resources[1], state.Unbootstrapped(d))
	require.Nil(t, state.Unbootstrapped(deployment(secrets(nil), bootstrap)))
	require.Nil(t, state.Unbootstrapped(deployment(machine("w-1", 102.0))))
}

func TestClusterCredentials(t *testing.T) {
	t.Parallel()
	kubeconfig, talosconfig, err := state.ClusterCredentials(deployment(
		secrets(nil), of(token.TalosCluster, "k3s-dev", nil, properties{"kubeconfig": sealed(t, "one"), "talosconfig": sealed(t, "two")}),
	))
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, []string{kubeconfig, talosconfig})

	kubeconfig, talosconfig, err = state.ClusterCredentials(deployment(secrets(nil)))
	require.NoError(t, err)
	require.Empty(t, kubeconfig+talosconfig)

	_, _, err = state.ClusterCredentials(deployment(of(token.TalosCluster, "k3s-dev", nil, properties{"kubeconfig": encrypted()})))
	require.Equal(t, propertymap.ErrSealed, err)
}
