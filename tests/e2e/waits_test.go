package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestE2EWaitsEndWithAReason: a clone that hangs is shown with its task, and a command of the operator stops it; a node of another cluster is
// recognized in seconds; an installation that failed is reported when the node is back in maintenance mode, and the next up does it again. At the end
// nothing is left of it.
func TestE2EWaitsEndWithAReason(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-waits")
	r.mustRun(0, "lab", "start")
	fault := func(name, vm string) {
		t.Helper()
		r.mustRun(0, "lab", "fault", "set", name, "--vm", vm, "--times", "1")
	}
	fault("clone-hangs", "k3s-dev-worker-1")
	fault("node-of-another-cluster", "k3s-dev-control-1")

	first := r.stopsTheCloneThatHangs()
	require.Regexp(t, `node 127\.[\d.]+: a node of another cluster, or another server, answers at its address; nothing was sent to it: where that is VM 101 itself`, first)
	require.Regexp(t, `k3s-dev-worker-1-vm being created, at most 20 min`, first)

	r.deleteOnHost(101)
	fault("install-fails", "k3s-dev-control-1")
	began := time.Now()
	second := r.mustRun(1, "up", "--lab", "--yes")
	require.Regexp(t, "it was given its configuration and is in maintenance mode without it: its installation failed|"+
		"it did not begin its installation, or that failed", second) // the latter if it was back before the run looked
	require.Less(t, time.Since(began), 10*time.Minute, "the wait alone would take fifteen")

	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "k3s-dev-control-1 is in maintenance mode: it is configured and joined again")
	r.mustRun(0, "preview", "--lab")
	require.Equal(t, "no task is running for the machines of this stack\n", r.mustRun(0, "task", "list", "--lab"))
	require.Contains(t, r.mustRun(3, "task", "stop", "102", "--lab", "--yes"), "no task works on VMID 102: see `em-infra task list")
}

// stopsTheCloneThatHangs begins an up whose clone hangs, stops the task by the command that the up names, and returns the output of the up.
func (r *rehearsal) stopsTheCloneThatHangs() (output string) {
	r.t.Helper()
	up := r.start("up", "--lab", "--yes")
	require.Eventually(r.t, func() bool { return hangingTask.MatchString(up.output()) }, 10*time.Minute, 100*time.Millisecond, "the task is named with the way to stop it")
	list := r.mustRun(0, "task", "list", "--lab")
	require.Regexp(r.t, `^qmclone of VM 9000 on vmhost, since [\d:]+\n  UPID:vmhost:\S+:qmclone:9000:\S+\n  \| create full clone of drive efidisk0 \(.*\)\n$`, list)
	stopsTheTasks(r, up)
	ended := up.wait()
	require.Equal(r.t, 1, ended.code, "another cluster's node is in the way")
	return ended.output
}
