package recovery_test

import (
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/recovery"
)

// halfMade is a state with a machine on which an operation failed, and a configuration that needs it.
func halfMade() *apitype.DeploymentV3 {
	machine := pendingMachine().PendingOperations[0].Resource
	machine.InitErrors = []string{"error updating VM: received an HTTP 403 response"}
	other := resource.URN("urn:pulumi:k3s-dev::em-infra::talos:machine/secrets:Secrets::k3s-dev-secrets")
	return &apitype.DeploymentV3{Resources: []apitype.ResourceV3{machine, {
		URN:                  "urn:pulumi:k3s-dev::em-infra::talos:machine/configurationApply:ConfigurationApply::k3s-dev-worker-1-apply",
		Type:                 "talos:machine/configurationApply:ConfigurationApply",
		Dependencies:         []resource.URN{other, machine.URN},
		PropertyDependencies: map[resource.PropertyKey][]resource.URN{"node": {machine.URN}, "secrets": {other}},
		DeletedWith:          machine.URN,
		ReplaceWith:          []resource.URN{machine.URN},
	}}}
}

func TestClearHalfMadeForgetsWhatOthersSayOfIt(t *testing.T) {
	t.Parallel()
	deployment := halfMade()
	other := deployment.Resources[1].Dependencies[0]
	done, err := recovery.ClearHalfMade(t.Context(), deployment, &host{})
	require.NoError(t, err)
	require.Equal(t, []string{"creation of VM 102 (k3s-dev-worker-1) ended before it existed"}, done)
	require.Equal(t, []apitype.ResourceV3{{
		URN:                  "urn:pulumi:k3s-dev::em-infra::talos:machine/configurationApply:ConfigurationApply::k3s-dev-worker-1-apply",
		Type:                 "talos:machine/configurationApply:ConfigurationApply",
		Dependencies:         []resource.URN{other},
		PropertyDependencies: map[resource.PropertyKey][]resource.URN{"node": {}, "secrets": {other}},
		ReplaceWith:          []resource.URN{},
	}}, deployment.Resources)
}

// A machine that ran and whose change failed keeps everything: it may hold the only etcd of a cluster.
func TestClearHalfMadeLeavesARunningMachineToTheEngine(t *testing.T) {
	t.Parallel()
	deployment := halfMade()
	h := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1", Started: true}}
	done, err := recovery.ClearHalfMade(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Empty(t, done)
	require.Empty(t, h.deleted)
	require.Equal(t, halfMade(), deployment)
}

func TestClearHalfMadeLeavesTheStateWhereItFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		host *host
		err  string
	}{
		{"host does not answer", &host{err: errors.New("VM 102 on vmhost: no route to host")}, "VM 102 on vmhost: no route to host"},
		{
			"somebody else's", &host{machine: &recovery.Machine{Name: "nas"}},
			`VM 102 on vmhost is "nas", not our "k3s-dev-worker-1": give our node another vmid in nodes.yaml, or delete that VM`,
		},
		{
			"it cannot be deleted", &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1"}, deleteErr: errors.New("delete VM 102 on vmhost: 500 storage is gone")},
			"delete VM 102 on vmhost: 500 storage is gone",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment := halfMade()
			done, err := recovery.ClearHalfMade(t.Context(), deployment, test.host)
			require.EqualError(t, err, test.err)
			require.Empty(t, done)
			require.Equal(t, halfMade(), deployment)
		})
	}
}

func TestClearHalfMadeLeavesAnOldMachineThatIsYetToBeDeleted(t *testing.T) {
	t.Parallel()
	deployment := halfMade()
	deployment.Resources[0].Delete = true
	h := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1"}}
	done, err := recovery.ClearHalfMade(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Empty(t, done)
	require.Len(t, deployment.Resources, 2)
}

func TestClearPendingWithoutAMachineInTheState(t *testing.T) {
	t.Parallel()
	deployment := pendingMachine()
	deployment.PendingOperations[0].Resource.Inputs = map[string]any{"name": "k3s-dev-worker-1"}
	_, err := recovery.ClearPending(t.Context(), deployment, &host{})
	require.EqualError(t, err, "unfinished creation of k3s-dev-worker-1-vm: the state does not say which VM on which host: restore the state from a backup")
}
