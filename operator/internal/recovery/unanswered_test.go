package recovery_test

import (
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

const birth = "6f0b5a52-8c3e-4b0e-9d55-0d5f6f0c9a11"

var (
	owner   = ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short("ID of the cluster")}
	another = ownership.Owner{Stack: "k3s-copy", Cluster: owner.Cluster}
)

// marked returns a machine in the state with its birth identifier and its owner's mark.
func marked(m apitype.ResourceV3) apitype.ResourceV3 {
	m.Inputs = map[string]any{
		"nodeName": "vmhost", "vmId": 102.0, "name": "k3s-dev-worker-1", "description": "Talos worker, " + owner.Mark() + ".",
		"smbios": map[string]any{"uuid": birth},
	}
	return m
}

// begunMarked returns a deployment with a pending creation of such a machine.
func begunMarked(resources ...apitype.ResourceV3) *apitype.DeploymentV3 {
	deployment := begun(resources...)
	deployment.PendingOperations[0].Resource = marked(deployment.PendingOperations[0].Resource)
	return deployment
}

// TestAMachineWhoseRunWasNotToldOfIt: a machine that runs or ran, and whose creation is pending in the state, is adopted if it is
// proven to be the same one. A machine that never ran is created anew.
func TestAMachineWhoseRunWasNotToldOfIt(t *testing.T) {
	t.Parallel()
	on := func(change func(*pve.Machine)) *pve.Machine {
		m := &pve.Machine{Name: "k3s-dev-worker-1", Owner: owner, Birth: birth, Running: true, Ran: "it runs"}
		change(m)
		return m
	}
	const left = "VM 102 (k3s-dev-worker-1) on vmhost is left alone, because it runs, and the state knows only that its creation was begun: " +
		"if it holds anything, put the state that knows it back with `em-infra state restore`; if it does not, shut it down, then run up again"
	const remedy = ": delete that VM if it holds nothing; if it does, put a state from before ours back with `em-infra state restore`, and give our node another vmid in nodes.yaml"
	for _, test := range []struct {
		name    string
		machine *pve.Machine
		adopted string // birth identifier of the adopted machine; empty if it is not adopted
		anew    bool
		err     string
	}{
		{name: "it runs", machine: on(func(*pve.Machine) {}), adopted: birth},
		{name: "it ran, and is off", machine: on(func(m *pve.Machine) { m.Running, m.Ran = false, "it was started" }), adopted: birth},
		{name: "its description was edited", machine: on(func(m *pve.Machine) { m.Owner = ownership.Owner{} }), adopted: birth},
		{name: "an earlier run of ours made it", machine: on(func(m *pve.Machine) { m.Birth = "0d9a5a52-8c3e-4b0e-9d55-0d5f6f0c9a11" }), adopted: "0d9a5a52-8c3e-4b0e-9d55-0d5f6f0c9a11"},
		{name: "it was never started", machine: on(func(m *pve.Machine) { m.Running, m.Ran, m.Birth = false, "", "host's own" }), anew: true},
		{name: "another stack made it", machine: on(func(m *pve.Machine) { m.Owner, m.Birth = another, "theirs" })},
		{
			name: "somebody made it by hand", machine: on(func(m *pve.Machine) { m.Owner, m.Birth = ownership.Owner{}, "theirs" }),
			err: "VM 102 (k3s-dev-worker-1) on vmhost does not say in its description that this stack has made it" + remedy,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &host{machine: test.machine}
			deployment := begunMarked()
			survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(h))
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, survey.NeverRan, map[bool]int{true: 1}[test.anew])
			if test.adopted == "" {
				require.Empty(t, survey.Unanswered)
				require.Empty(t, h.deleted)
				return
			}
			require.Len(t, survey.Unanswered, 1)
			require.Equal(t, "VM 102 (k3s-dev-worker-1) on vmhost is taken into the state: a run of this stack made it, and got no answer", survey.Unanswered[0].Adoption())
			_, changed := survey.Note(deployment, born)
			require.True(t, changed)
			require.Empty(t, deployment.PendingOperations)
			require.Len(t, deployment.Resources, 1)
			require.Equal(t, test.adopted, deployment.Resources[0].Inputs["smbios"].(map[string]any)["uuid"])
			require.Equal(t, "102", string(deployment.Resources[0].ID))

			// It does not count as never run, even if the host's records are lost until the next run.
			h.machine.Ran, h.machine.Running = "", false
			again, err := recovery.LookAtFailed(t.Context(), deployment, with(h))
			require.NoError(t, err)
			require.Empty(t, again.NeverRan)
			require.Len(t, again.Used, 1)
			require.True(t, again.Used[0].Unanswered)
		})
	}
	_, err := recovery.LookAtUnfinished(t.Context(), begun(), with(&host{machine: on(func(m *pve.Machine) { m.Owner = ownership.Owner{} })}))
	require.EqualError(t, err, left, "a creation from before all marks proves nothing")
}

// TestAFormerMachineDoesNotSpeakForTheNextOne: backups and configurations with another birth identifier do not count.
func TestAFormerMachineDoesNotSpeakForTheNextOne(t *testing.T) {
	t.Parallel()
	half := &pve.Machine{Name: "k3s-dev-worker-1", Owner: owner, Birth: "the host's own"}
	survey, err := recovery.LookAtUnfinished(t.Context(), begunMarked(), with(&host{machine: half}, kept("a", marked(machine()))))
	require.NoError(t, err)
	require.Len(t, survey.NeverRan, 1)
}

// secrets returns the machine secrets of owner's cluster.
func secrets() apitype.ResourceV3 {
	return apitype.ResourceV3{
		URN: "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/secrets:Secrets::k3s-dev-secrets", Type: "talos:machine/secrets:Secrets", ID: "s", Custom: true,
		Outputs: map[string]any{"machineSecrets": map[string]any{"cluster": map[string]any{"id": "ID of the cluster"}}},
	}
}

// TestPastOwners: an empty state does not contain its former cluster; its backups do, outside of their secrets.
func TestPastOwners(t *testing.T) {
	t.Parallel()
	sealed := secrets()
	sealed.Outputs = map[string]any{"machineSecrets": map[string]any{sig.Key: sig.Secret, "ciphertext": "v1:x"}}
	require.Equal(t, []ownership.Owner{owner}, recovery.PastOwners("k3s-dev", []recovery.Past{
		kept("b"), kept("a", sealed, marked(machine()), machine()), kept("0", marked(machine())),
	}))
	require.Empty(t, recovery.PastOwners("k3s-copy", []recovery.Past{kept("a", marked(machine()))}))
}

// TestAMachineThatTheStateDoesNotKnow: the answer to its clone request was lost, or an earlier state was restored.
func TestAMachineThatTheStateDoesNotKnow(t *testing.T) {
	t.Parallel()
	names := map[int]string{102: "k3s-dev-worker-1"}
	running := &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Owner: owner, Birth: birth, Running: true, Ran: "it runs"}
	planned := marked(machine())
	planned.ID, planned.Created, planned.Modified, planned.Provider = "", nil, nil, ""
	planned.Inputs["smbios"] = map[string]any{"uuid": "new in each preview"}
	cluster := apitype.ResourceV3{URN: "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster::k3s-dev", Type: "em-infra:index:TalosCluster"}
	node := apitype.ResourceV3{URN: urnNode, Type: "em-infra:index:TalosNode", Parent: cluster.URN, Inputs: map[string]any{"vmid": 102.0}}
	provider := apitype.ResourceV3{URN: urnProvider, Type: "pulumi:providers:proxmoxve", ID: "1234", Custom: true}

	for _, test := range []struct {
		name    string
		past    []recovery.Past
		planned []apitype.ResourceV3
	}{
		{"as the program would make it", nil, []apitype.ResourceV3{node, planned}},
		{"as a copy of the state has it", []recovery.Past{kept("a", cluster, node, marked(machine()))}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment := state(provider, cluster, secrets())
			unknown, err := recovery.LookForUnknown(t.Context(), deployment, owner, names, &host{machine: running})
			require.NoError(t, err)
			require.Len(t, unknown, 1)
			require.NoError(t, recovery.Adopt(deployment, unknown, test.past, test.planned, born))
			require.Equal(t, node.URN, deployment.Resources[3].URN, "what it belongs to comes before it")
			adopted := deployment.Resources[4]
			require.Equal(t, urnMachine, string(adopted.URN))
			require.Equal(t, urnProvider+"::1234", adopted.Provider)
			require.Equal(t, map[string]any{"uuid": birth}, adopted.Inputs["smbios"])
			survey, err := recovery.LookAtFailed(t.Context(), deployment, with(&host{machine: running}))
			require.NoError(t, err)
			require.Len(t, survey.Used, 1)

			again, err := recovery.LookForUnknown(t.Context(), deployment, owner, names, &host{machine: running})
			require.NoError(t, err)
			require.Empty(t, again, "it is adopted once")
		})
	}

	unknown, err := recovery.LookForUnknown(t.Context(), state(secrets()), owner, names, &host{machine: running})
	require.NoError(t, err)
	require.EqualError(t, recovery.Adopt(state(secrets()), unknown, nil, nil, time.Now()),
		"VM 102 (k3s-dev-worker-1) on vmhost is of this stack, but neither the state nor the program knows it: put the state that knows it back with `em-infra state restore`")
	for name, change := range map[string]func(*pve.Machine){
		"another stack's":      func(m *pve.Machine) { m.Owner = another },
		"nobody's":             func(m *pve.Machine) { m.Owner = ownership.Owner{} },
		"under another name":   func(m *pve.Machine) { m.Name = "k3s-dev-worker-2" },
		"in the hands of task": func(m *pve.Machine) { m.Lock = "backup" },
		"never started":        func(m *pve.Machine) { m.Ran, m.Running = "", false },
	} {
		m := *running
		change(&m)
		unknown, err := recovery.LookForUnknown(t.Context(), state(secrets()), owner, names, &host{machine: &m})
		require.NoError(t, err)
		require.Empty(t, unknown, name)
	}
}

// TestRecordUnstarted: a complete clone of ours that was never started is created anew, like an incomplete one.
func TestRecordUnstarted(t *testing.T) {
	t.Parallel()
	whole := pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Owner: owner, Birth: "the host's own"}
	deployment := failedClone()
	recorded, err := recovery.RecordUnstarted(t.Context(), deployment, owner, &host{machine: &whole})
	require.NoError(t, err)
	require.Equal(t, 1, recorded)
	survey, err := recovery.LookAtFailed(t.Context(), deployment, with(&host{machine: &whole}, kept("a", marked(machine()))))
	require.NoError(t, err)
	require.Len(t, survey.NeverRan, 1)

	theirs := whole
	theirs.Owner = another
	recorded, err = recovery.RecordUnstarted(t.Context(), failedClone(), owner, &host{machine: &theirs})
	require.NoError(t, err)
	require.Zero(t, recorded)
}

// TestRecordUnstartedInThePlaceOfAPredecessor: the machine before was deleted, and stays in the state until its successor is created.
func TestRecordUnstartedInThePlaceOfAPredecessor(t *testing.T) {
	t.Parallel()
	whole := pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Owner: owner, Birth: "the host's own"}
	deployment := failedClone()
	predecessor := machine()
	predecessor.ID, predecessor.PendingReplacement = "101", true
	last := apitype.ResourceV3{URN: urnNode + "-membership", Type: "command:local:Command"}
	deployment.Resources = append(deployment.Resources, predecessor, last)
	recorded, err := recovery.RecordUnstarted(t.Context(), deployment, owner, &host{machine: &whole})
	require.NoError(t, err)
	require.Equal(t, 1, recorded)
	require.Len(t, deployment.Resources, 4, "the engine takes one entry with a name")
	require.Equal(t, "102", string(deployment.Resources[2].ID), "before what depends on it")
	require.False(t, deployment.Resources[2].PendingReplacement)
}
