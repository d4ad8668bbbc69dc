package recovery_test

import (
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// TestNothingThatWasUsedIsDeleted checks for each witness alone that it prevents the deletion of a machine that is off, has init
// errors, and whose start the host no longer records (the task lists of a node rotate).
func TestNothingThatWasUsedIsDeleted(t *testing.T) {
	t.Parallel()
	replacedConfiguration := configuration()
	replacedConfiguration.PendingReplacement = true
	deletedConfiguration := configuration()
	deletedConfiguration.Delete = true
	sooner, later := born.Add(-time.Hour), born.Add(time.Hour)
	former, next := machine(), machine()
	former.Created, next.Created = &sooner, &later
	notDated := failed()
	notDated.Created, notDated.Modified = nil, nil
	started := ours()
	started.Ran = "it was started"

	for _, test := range []struct {
		name       string
		deployment *apitype.DeploymentV3
		past       []recovery.Past
		machine    *pve.Machine
		used       bool
	}{
		{"nobody knows of any use", state(failed()), []recovery.Past{kept("2026-01-02T03-05-00-after-up", failed())}, ours(), false},
		{"the host knows that it was started", state(failed()), nil, started, true},
		{"a change came after its creation", state(changedLater(failed())), nil, ours(), true},
		{"its configuration is in the state", state(failed(), configuration()), nil, ours(), true},
		{"its membership is in the state", state(failed(), membership()), nil, ours(), true},
		{"the configuration of the machine that the engine has deleted for it", state(failed(), replacedConfiguration), nil, ours(), false},
		{"a configuration that is yet to be deleted", state(failed(), deletedConfiguration), nil, ours(), false},
		{"an earlier state has it whole", state(failed()), []recovery.Past{kept("b", failed()), kept("a", machine())}, ours(), true},
		{"an earlier state has the machine that was there before", state(failed()), []recovery.Past{kept("a", former)}, ours(), false},
		{"an old copy of the state was put back", state(failed()), []recovery.Past{kept("a", next)}, ours(), true},
		{"noted without a time, and no earlier state has one", state(notDated), []recovery.Past{kept("a")}, ours(), false},
		{"there is nothing in it", state(changedLater(failed()), configuration()), nil, &pve.Machine{Empty: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &host{machine: test.machine}
			survey, err := recovery.LookAtFailed(t.Context(), test.deployment, with(h, test.past...))
			require.NoError(t, err)
			require.Empty(t, h.deleted)
			if test.used {
				require.Empty(t, survey.NeverRan)
				require.Len(t, survey.Used, 1)
				return
			}
			require.Len(t, survey.NeverRan, 1)
			require.Empty(t, survey.Used)
		})
	}
}

// TestWhatWasNotedAndUsedIsLeftAlone: if recovery itself has recorded a machine after an interrupted creation, it is unknown what
// the machine lacks. It is not started either.
func TestWhatWasNotedAndUsedIsLeftAlone(t *testing.T) {
	t.Parallel()
	noted := failed()
	noted.Created, noted.Modified = nil, nil
	h := &host{machine: ours()}
	_, err := recovery.LookAtFailed(t.Context(), state(noted), with(h, kept("2026-01-02T03-04-05-before-up", machine())))
	require.EqualError(t, err, "VM 102 (k3s-dev-worker-1) on vmhost is left alone, because it was whole in the state of the backup 2026-01-02T03-04-05-before-up, and the state knows only that its creation was begun: if it holds anything, put the state that knows it back with `em-infra state restore`; if it does not, delete it with `qm destroy 102 --purge` on vmhost, then run up again")
}

// TestACreationThatWasCutOff: the state contains only the pending creation, so the machine is deleted only without any witness.
func TestACreationThatWasCutOff(t *testing.T) {
	t.Parallel()
	replaced := machine()
	replaced.PendingReplacement = true
	started := ours()
	started.Ran = "it was started"
	const remedy = ", and the state knows only that its creation was begun: if it holds anything, put the state that knows it back with `em-infra state restore`; if it does not, delete it with `qm destroy 102 --purge` on vmhost, then run up again"

	for _, test := range []struct {
		name       string
		deployment *apitype.DeploymentV3
		past       []recovery.Past
		host       *host
		neverRan   int
		note, err  string
	}{
		{name: "nothing there", deployment: begun(), host: &host{}, note: "creation of VM 102 (k3s-dev-worker-1) ended before it existed"},
		{name: "ours, and nobody knows of any use", deployment: begun(), host: &host{machine: ours()}, neverRan: 1, note: "the creation of VM 102 (k3s-dev-worker-1) was cut off"},
		{name: "no more than the beginning of a clone", deployment: begun(), host: &host{machine: &pve.Machine{Empty: true}}, neverRan: 1, note: "the creation of VM 102 (k3s-dev-worker-1) was cut off"},
		{
			name: "in the place of a machine that the engine has deleted", deployment: begun(replaced), past: []recovery.Past{kept("a", machine())},
			host: &host{machine: ours()}, neverRan: 1, note: "the creation of VM 102 (k3s-dev-worker-1) was cut off",
		},
		{
			name: "started", deployment: begun(), host: &host{machine: started},
			err: "VM 102 (k3s-dev-worker-1) on vmhost is left alone, because it was started" + remedy,
		},
		{
			name: "whole in an earlier state", deployment: begun(), past: []recovery.Past{kept("2026-01-02T03-04-05-before-up", machine())}, host: &host{machine: ours()},
			err: "VM 102 (k3s-dev-worker-1) on vmhost is left alone, because it was whole in the state of the backup 2026-01-02T03-04-05-before-up" + remedy,
		},
		{
			name: "its configuration is in the state", deployment: begun(configuration()), host: &host{machine: ours()},
			err: "VM 102 (k3s-dev-worker-1) on vmhost is left alone, because k3s-dev-worker-1-configuration in the state was applied to it" + remedy,
		},
		{
			name: "somebody else's", deployment: begun(), host: &host{machine: &pve.Machine{Name: "nas"}},
			note: "the creation of VM 102 (k3s-dev-worker-1) was cut off; VM 102 on vmhost is nas now, which is not ours and stays as it is",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			survey, err := recovery.LookAtUnfinished(t.Context(), test.deployment, with(test.host, test.past...))
			require.Empty(t, test.host.deleted)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				require.Len(t, test.deployment.PendingOperations, 1, "what was not settled must stay pending")
				return
			}
			require.NoError(t, err)
			require.Len(t, survey.NeverRan, test.neverRan)
			notes, changed := survey.Note(test.deployment, born.Add(time.Hour))
			require.Equal(t, []string{test.note}, notes)
			require.True(t, changed)
			require.Empty(t, test.deployment.PendingOperations)

			again, err := recovery.LookAtFailed(t.Context(), test.deployment, with(test.host, test.past...))
			require.NoError(t, err)
			require.Len(t, again.NeverRan, test.neverRan, "a later run comes to the same end")
		})
	}
}
