package e2e_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
)

// TestE2EKilledAfterTheMachineIsInTheState: the next up finishes the work. Then a change of a machine fails halfway, and the
// host forgets that it ever ran: it is repaired, and not treated as an incomplete machine.
func TestE2EKilledAfterTheMachineIsInTheState(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-killed-late")

	r.mustRun(0, "lab", "start")
	kill := r.startToKill("up", "--lab", "--yes")
	r.eventually("both machines are in the state", func() bool {
		return r.stateHas("k3s-dev-control-1-vm") && r.stateHas("k3s-dev-worker-1-vm")
	})
	kill()

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, "the run before was killed: its lock is removed")
	r.secureAPIAnswers(r.nodes())
	r.mustRun(0, "preview", "--lab", "--refresh")
	require.Equal(t, 2, r.clones(), "each machine was cloned once")

	r.aMoveThatFails("k3s-dev-worker-1", 102)
}

// TestE2EKilledDuringTheClone: the state contains only that a creation was begun; up deletes a machine that never ran and
// continues.
func TestE2EKilledDuringTheClone(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-killed-early")

	r.killDuringClone("pulumi", "sh")
	require.NotEmpty(t, r.pending(), "the state holds a pending create")
	require.Regexp(t, "[0-9]+ of its plugins still worked: they are ended", r.mustRun(0, "state", "unlock", "--lab"))
	r.cloneEnds()

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, "ended half way: what was left of it is deleted, it never ran")
	r.secureAPIAnswers(r.nodes())
	require.Empty(t, r.pending())
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// TestE2EInterrupted: after one Ctrl-C, up ends when the operations in progress have ended, and the next one has nothing to
// settle.
func TestE2EInterrupted(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-interrupted")

	r.mustRun(0, "lab", "start")
	command, output := r.begin("up", "--lab", "--yes")
	r.eventually("a clone was asked for", func() bool { return r.clones() > 0 })
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.Error(t, command.Wait())
	require.Equal(t, 1, command.ProcessState.ExitCode(), "%s", output)
	require.Contains(t, output.String(), "interrupted; the state is saved and says what exists.")
	require.NotContains(t, output.String(), "goroutine ")
	require.Empty(t, r.pending())

	again := r.mustRun(0, "up", "--lab", "--yes")
	require.NotContains(t, again, " recover ")
	require.Equal(t, 2, r.clones(), "each machine was cloned once")
	r.secureAPIAnswers(r.nodes())
}

// TestE2EPlainEngineAfterAKill: a plain engine reports what blocks it, and em-infra continues.
func TestE2EPlainEngineAfterAKill(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-killed-plain")

	r.killDuringClone("pulumi")
	r.eventually("the guard of the plugins has ended them", func() bool { return len(r.plugins()) == 0 })
	r.cloneEnds()
	plain := r.plainEngine()

	_, err := plain.Up(t.Context())
	require.ErrorContains(t, err, "the stack is currently locked by 1 lock(s)")
	require.ErrorContains(t, err, "pulumi cancel")
	require.NoError(t, plain.Cancel(t.Context()))

	_, err = plain.Up(t.Context())
	require.ErrorContains(t, err, "already exists")

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, "ended half way: what was left of it is deleted, it never ran")
	r.secureAPIAnswers(r.nodes())
}

// killDuringClone kills a first up, and its children of these names, while the host clones. The caller makes sure that the processes that go on
// without them have ended before cloneEnds.
func (r *rehearsal) killDuringClone(children ...string) {
	r.t.Helper()
	r.mustRun(0, "lab", "start")
	r.mustRun(0, "lab", "fault", "set", "clone-hangs")
	kill := r.startWith(children, "up", "--lab", "--yes")
	r.eventually("a clone was asked for", func() bool { return r.clones() > 0 })
	kill()
}

// cloneEnds lets the host finish orphaned clones.
func (r *rehearsal) cloneEnds() {
	r.t.Helper()
	r.mustRun(0, "lab", "fault", "clear")
}

// clones returns how many clones were requested from the host.
func (r *rehearsal) clones() int {
	r.t.Helper()
	count := 0
	for _, write := range writes(r.calls()) {
		if strings.HasSuffix(write, "/clone") {
			count++
		}
	}
	return count
}

// state reads the rehearsal's state as it lies in its folder; it is empty before the first checkpoint.
func (r *rehearsal) state() apitype.DeploymentV3 {
	r.t.Helper()
	state, err := r.onLab("").State()
	require.NoError(r.t, err)
	return state
}

func (r *rehearsal) stateHas(name string) bool {
	return slices.ContainsFunc(r.state().Resources, func(resource apitype.ResourceV3) bool {
		return resource.URN.Name() == name && resource.ID != ""
	})
}

func (r *rehearsal) pending() []apitype.OperationV2 { return r.state().PendingOperations }

// TestE2EPowerCutDuringAClone: after a power cut the host does not clean up an incomplete clone, and no token may remove the
// lock. The next up reports what to do, and the one after that continues.
func TestE2EPowerCutDuringAClone(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-power-cut")
	r.mustRun(0, "lab", "start")
	r.mustRun(0, "lab", "fault", "set", "host-reboots", "--endpoint", "/nodes/{node}/qemu/{vmid}/clone", "--nth", "2")
	r.mustRun(1, "up", "--lab", "--yes")
	r.mustRun(0, "lab", "fault", "clear")
	require.Empty(t, r.pending(), "the engine forgets a creation that failed")

	output := r.mustRun(1, "up", "--lab", "--yes")
	named := regexp.MustCompile("VM ([0-9]+) on vmhost is locked \\(clone\\) and no task works on it: run `em-infra (lab unlock [0-9]+) --stack").FindStringSubmatch(output)
	require.Len(t, named, 3, "%s", output)
	require.NotContains(t, output, "qm unlock", "nobody can log in to the host of a lab")
	r.mustRun(0, strings.Fields(named[2])...)

	output = r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, "ended half way: what was left of it is deleted, it never ran")
	r.secureAPIAnswers(r.nodes())
	r.mustRun(0, "preview", "--lab", "--refresh")
}
