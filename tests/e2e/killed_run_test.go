package e2e_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// killedStack is the stack of a run of these tests that is killed.
const killedStack = "e2e-killed-run"

// killedVariable is set for the run that is killed.
const killedVariable = "EM_INFRA_TEST_KILLED_RUN"

// TestE2EAKilledTestRunLeavesNothing kills a run of these tests, as a time limit does, in the middle of a preview: the lab, its
// control plane, em-infra, the engine and its plugins end.
func TestE2EAKilledTestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, killedStack)
	self, err := os.Executable()
	require.NoError(t, err)
	run := exec.Command(self, "-test.run", "^TestE2EIsKilled$", "-test.v")
	built, err := workshop.Tool()
	require.NoError(t, err)
	run.Env = append(os.Environ(), killedVariable+"=1", labstack.ToolVariable+"="+built, "TMPDIR="+t.TempDir()) // what it cannot remove goes with this test
	require.NoError(t, run.Start())
	parts := []string{"pulumi", "pulumi-resource-proxmoxve", "pulumi-resource-talos", "controlplane"}
	r.eventually("all parts of a run work", func() bool {
		programs := programsOf(t, killedStack)
		return !slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(programs, part) })
	})
	require.NoError(t, run.Process.Kill())
	require.Error(t, run.Wait())
	r.eventually("nothing of the run is left", func() bool { return len(programsOf(t, killedStack)) == 0 })
}

// TestE2EIsKilled is what the run that is killed does.
func TestE2EIsKilled(t *testing.T) {
	if os.Getenv(killedVariable) == "" {
		t.Skip("only for the test of a run that is killed")
	}
	r := newRehearsal(t, killedStack)
	r.mustRun(0, "up", "--lab", "--yes")
	for { // while one goes on, the engine, its plugins and the control plane run at the same time
		r.mustRun(0, "preview", "--lab")
	}
}

// programsOf returns the programs of the processes that have something to do with a stack.
func programsOf(t testing.TB, stack string) []string {
	t.Helper()
	workers, err := labstack.Workers(stack)
	require.NoError(t, err)
	var programs []string
	for _, w := range workers {
		programs = append(programs, w.Program())
	}
	return programs
}
