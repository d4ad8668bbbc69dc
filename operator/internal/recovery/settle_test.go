package recovery_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// remnant returns what is left of VM 102.
func remnant() recovery.Remnant {
	return recovery.Remnant{URN: urnMachine, VMID: 102, Node: "vmhost", Name: "k3s-dev-worker-1"}
}

func TestWhatNeverRanIsDeletedAndForgotten(t *testing.T) {
	t.Parallel()
	require.Equal(t, "VM 102 (k3s-dev-worker-1) on vmhost is deleted: its creation ended half way, and it never ran", remnant().Promise())
	for _, found := range []*pve.Machine{ours(), nil} {
		deployment := state(failed())
		h := &host{machine: found}
		done, err := recovery.Delete(t.Context(), deployment, remnant(), h)
		require.NoError(t, err)
		require.Equal(t, "creation of VM 102 (k3s-dev-worker-1) ended half way: what was left of it is deleted, it never ran", done)
		require.Equal(t, []operation{{102, "vmhost"}}, h.deleted)
		require.Empty(t, deployment.Resources)
	}
}

// The machine may have been started between the question and the answer.
func TestWhatWasStartedMeanwhileIsNotDeleted(t *testing.T) {
	t.Parallel()
	started := ours()
	started.Ran = "it was started"
	moved, renamed := ours(), &pve.Machine{Name: "nas"}
	moved.Node = "vmhost2"
	for _, test := range []struct {
		host *host
		err  string
	}{
		{&host{machine: moved}, "VM 102 (k3s-dev-worker-1) is not deleted, because it was moved to vmhost2 since it was looked at: run up again"},
		{&host{machine: renamed}, "VM 102 (k3s-dev-worker-1) is not deleted, because it was named nas since it was looked at: run up again"},
		{&host{machine: started}, "VM 102 (k3s-dev-worker-1) is not deleted, because it was started since it was looked at: run up again"},
		{&host{err: errors.New("VM 102 on vmhost is locked")}, "VM 102 on vmhost is locked"},
		{&host{machine: ours(), deleteErr: errors.New("delete VM 102 on vmhost: 500 storage is gone")}, "delete VM 102 on vmhost: 500 storage is gone"},
	} {
		deployment := state(failed())
		_, err := recovery.Delete(t.Context(), deployment, remnant(), test.host)
		require.EqualError(t, err, test.err)
		require.Empty(t, test.host.deleted)
		require.Equal(t, state(failed()), deployment)
	}
}

func TestAMachineThatIsOffIsStarted(t *testing.T) {
	t.Parallel()
	running := ours()
	running.Running, running.Ran = true, "it runs"
	for _, test := range []struct {
		name    string
		host    *host
		started []operation
		done    string
	}{
		{"off", &host{machine: ours()}, []operation{{102, "vmhost"}}, "VM 102 (k3s-dev-worker-1) is off since a change of it failed: it is started, and the change is tried again"},
		{"on", &host{machine: running}, nil, "the last change of VM 102 (k3s-dev-worker-1) failed half way: it is tried again"},
		{
			"on, after a reboot that failed", &host{machine: running, pending: []string{"cores", "memory"}}, nil,
			"the last change of VM 102 (k3s-dev-worker-1) failed half way: it is tried again; cores, memory of it is set and waits for a cold start: run `qm reboot 102` on vmhost when the node may be away for a minute",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			survey, err := recovery.LookAtFailed(t.Context(), state(failed(), configuration()), with(test.host))
			require.NoError(t, err)
			require.True(t, survey.Used[0].Joined)
			done, err := recovery.Start(t.Context(), survey.Used[0], test.host)
			require.NoError(t, err)
			require.Equal(t, test.done, done)
			require.Equal(t, test.started, test.host.started)
		})
	}
	_, err := recovery.Start(t.Context(), recovery.Remnant{VMID: 102, Node: "vmhost", Idle: true}, &host{startErr: errors.New("start VM 102 on vmhost: no")})
	require.EqualError(t, err, "start VM 102 on vmhost: no")
}

// A template is never started, nor a machine that the inventory wants to be off.
func TestWhatIsToBeOffIsNotStarted(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]bool{"template": true, "started": false} {
		off := changedLater(failed())
		off.Inputs[key] = value
		survey, err := recovery.LookAtFailed(t.Context(), state(off), with(&host{machine: ours()}))
		require.NoError(t, err)
		require.Len(t, survey.Used, 1)
		require.False(t, survey.Used[0].Idle, key)
	}
}
