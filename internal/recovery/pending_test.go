package recovery_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/recovery"
)

// host is a Proxmox VE host with at most one machine.
type host struct {
	machine *recovery.Machine
	err     error
	deleted []int
	looked  []int

	deleteErr error
	// settled are the nodes that were asked, and deletedOn those that a machine was deleted on.
	settled, deletedOn []string
}

// Settle finds the machine where it stands; one that says nothing of that stands anywhere.
func (h *host) Settle(_ context.Context, node string, _ int) (*recovery.Machine, error) {
	h.settled = append(h.settled, node)
	if h.machine == nil || h.machine.Node != "" && h.machine.Node != node {
		return nil, h.err
	}
	machine := *h.machine
	machine.Node = node
	return &machine, h.err
}

func (h *host) Look(_ context.Context, vmid int) (*recovery.Machine, error) {
	h.looked = append(h.looked, vmid)
	return h.machine, h.err
}

func (h *host) Delete(_ context.Context, node string, vmid int) error {
	if h.deleteErr == nil {
		h.deleted, h.deletedOn = append(h.deleted, vmid), append(h.deletedOn, node)
	}
	return h.deleteErr
}

func pendingMachine() *apitype.DeploymentV3 {
	return &apitype.DeploymentV3{PendingOperations: []apitype.OperationV2{{
		Type: apitype.OperationTypeCreating,
		Resource: apitype.ResourceV3{
			URN:    "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm",
			Type:   "proxmoxve:VM/virtualMachine:VirtualMachine",
			Inputs: map[string]any{"nodeName": "vmhost", "vmId": 102.0, "name": "k3s-dev-worker-1"},
		},
	}}}
}

func TestClearPending(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name    string
		host    *host
		done    []string
		err     string
		deleted []int
	}{
		{
			name: "nothing there",
			host: &host{},
			done: []string{"creation of VM 102 (k3s-dev-worker-1) ended before it existed"},
		},
		{
			name:    "ours and never started",
			host:    &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1"}},
			done:    []string{"creation of VM 102 (k3s-dev-worker-1) ended half way: what was left of it is deleted, it never ran"},
			deleted: []int{102},
		},
		{
			name:    "no more than the beginning of a clone",
			host:    &host{machine: &recovery.Machine{Empty: true}},
			done:    []string{"creation of VM 102 (k3s-dev-worker-1) ended half way: what was left of it is deleted, it never ran"},
			deleted: []int{102},
		},
		{
			name: "ours but started",
			host: &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1", Started: true}},
			err:  "VM 102 (k3s-dev-worker-1) was started by a run that ended before it could note so, and is left alone: if it holds nothing, delete it with `qm stop 102 && qm destroy 102 --purge` on vmhost, then run up again",
		},
		{
			name: "somebody else's",
			host: &host{machine: &recovery.Machine{Name: "nas"}},
			err:  `VM 102 on vmhost is "nas", not our "k3s-dev-worker-1": give our node another vmid in nodes.yaml, or delete that VM`,
		},
		{
			name: "host does not answer",
			host: &host{err: errors.New("VM 102 on vmhost: no route to host")},
			err:  "VM 102 on vmhost: no route to host",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			deployment := pendingMachine()
			done, err := recovery.ClearPending(t.Context(), deployment, test.host)
			require.Equal(t, test.done, done)
			require.Equal(t, test.deleted, test.host.deleted)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				require.Len(t, deployment.PendingOperations, 1, "what was not settled must stay pending")
				return
			}
			require.NoError(t, err)
			require.Empty(t, deployment.PendingOperations)
		})
	}
}

func TestClearPendingLeavesMachinesAloneForOtherOperations(t *testing.T) {
	t.Parallel()

	deployment := pendingMachine()
	deployment.PendingOperations[0].Type = apitype.OperationTypeUpdating
	h := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1"}}
	done, err := recovery.ClearPending(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Equal(t, []string{"updating of k3s-dev-worker-1-vm was interrupted: it is done again"}, done)
	require.Empty(t, h.deleted)
}

func TestClearPendingForgetsWhatALaterRunHasMade(t *testing.T) {
	t.Parallel()

	deployment := pendingMachine()
	made := deployment.PendingOperations[0].Resource
	made.ID = "102"
	deployment.Resources = append(deployment.Resources, made)
	h := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1", Started: true}}

	done, err := recovery.ClearPending(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Empty(t, done)
	require.Empty(t, h.deleted)
	require.Empty(t, deployment.PendingOperations)
	require.Equal(t, []apitype.ResourceV3{made}, deployment.Resources)
}

func TestClearHalfMade(t *testing.T) {
	t.Parallel()

	made := pendingMachine().PendingOperations[0].Resource
	made.URN = "urn:pulumi:k3s-dev::em-infra::proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-control-1-vm"
	half := pendingMachine().PendingOperations[0].Resource
	half.InitErrors = []string{"error updating VM: received an HTTP 403 response"}
	deployment := &apitype.DeploymentV3{Resources: []apitype.ResourceV3{made, half}}
	h := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1"}}

	done, err := recovery.ClearHalfMade(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Equal(t, []string{"creation of VM 102 (k3s-dev-worker-1) ended half way: what was left of it is deleted, it never ran"}, done)
	require.Equal(t, []apitype.ResourceV3{made}, deployment.Resources)
	require.Equal(t, []int{102}, h.deleted)
}

func secretsOnly() *apitype.DeploymentV3 {
	return &apitype.DeploymentV3{Resources: []apitype.ResourceV3{{
		URN:      "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/secrets:Secrets::k3s-dev-secrets",
		Type:     "talos:machine/secrets:Secrets",
		Parent:   "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster::k3s-dev",
		Provider: "urn:pulumi:k3s-dev::em-infra::pulumi:providers:talos::talos::1234",
		Outputs: map[string]any{"clientConfiguration": map[string]any{
			"caCertificate":     "authority",
			"clientCertificate": "certificate",
			"clientKey": map[string]any{
				resource.SigKey: resource.SecretSig, "plaintext": `"made up"`,
			},
		}},
	}}}
}

func TestF6AdoptBootstrap(t *testing.T) {
	t.Parallel()

	deployment := secretsOnly()
	credentials, err := recovery.CredentialsOf(recovery.Unbootstrapped(deployment))
	require.NoError(t, err)
	require.Equal(t, recovery.Credentials{CA: "authority", Certificate: "certificate", Key: "made up"}, credentials)

	recovery.AdoptBootstrap(deployment, "k3s-dev-bootstrap", "192.168.20.11")
	require.Len(t, deployment.Resources, 2)
	adopted := deployment.Resources[1]
	require.Equal(t, "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/bootstrap:Bootstrap::k3s-dev-bootstrap", string(adopted.URN))
	require.Equal(t, "machine_bootstrap", string(adopted.ID))
	require.Equal(t, deployment.Resources[0].Provider, adopted.Provider)
	require.Equal(t, deployment.Resources[0].Parent, adopted.Parent)
	require.Equal(t, "192.168.20.11", adopted.Inputs["node"])
	require.Nil(t, recovery.Unbootstrapped(deployment), "it is adopted once")
}

func TestCredentialsOfNamesNoSecret(t *testing.T) {
	t.Parallel()

	deployment := secretsOnly()
	deployment.Resources[0].Outputs["clientConfiguration"] = map[string]any{resource.SigKey: resource.SecretSig, "plaintext": "not JSON: made up"}
	_, err := recovery.CredentialsOf(&deployment.Resources[0])
	require.EqualError(t, err, "client credentials in the state: a secret in the state is not in clear: export it with its secrets")
}

// A clone for another host is on the template's while it is made, and on its own at the end.
func TestClearPendingCloneForAnotherHost(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name    string
		stands  string
		settled []string
	}{
		{"being made", "vmhost", []string{"vmhost"}},
		{"done", "vmhost2", []string{"vmhost", "vmhost2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			deployment := pendingMachine()
			inputs := deployment.PendingOperations[0].Resource.Inputs
			inputs["nodeName"], inputs["clone"] = "vmhost2", map[string]any{"nodeName": "vmhost", "vmId": 9000.0}
			at := &host{machine: &recovery.Machine{Name: "k3s-dev-worker-1", Node: test.stands}}
			_, err := recovery.ClearPending(t.Context(), deployment, at)
			require.NoError(t, err)
			require.Equal(t, test.settled, at.settled)
			require.Equal(t, []string{test.stands}, at.deletedOn)
		})
	}
}
