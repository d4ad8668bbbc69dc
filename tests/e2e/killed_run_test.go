package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// killedStack is the stack of a run of these tests that is killed.
const killedStack = "e2e-killed-run"

// killedVariable names, for the run that is killed, the file that it writes when it can be killed.
const killedVariable = "EM_INFRA_TEST_KILLED_RUN"

// pluginsOfARun are the programs that outlive their engine when nothing ends them.
var pluginsOfARun = []string{"pulumi-resource-proxmoxve", "pulumi-resource-talos"}

// TestE2EAKilledTestRunLeavesNothing kills a run of these tests, as a time limit does, after one of its tests has killed em-infra, its engine
// and the guard of the plugins. The lab, its control plane, and the plugins without an engine must end.
func TestE2EAKilledTestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, killedStack)
	self, err := os.Executable()
	require.NoError(t, err)
	run := exec.Command(self, "-test.run", "^TestE2EIsKilled$", "-test.v")
	built, err := workshop.Tool()
	require.NoError(t, err)
	ready := filepath.Join(t.TempDir(), "ready")
	run.Env = append(os.Environ(), killedVariable+"="+ready, labstack.ToolVariable+"="+built, "TMPDIR="+t.TempDir()) // what it cannot remove goes with this test
	var output bytes.Buffer
	run.Stdout, run.Stderr = &output, &output
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill() }) // if the test ends before that
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	r.eventually("it can be killed", func() bool {
		require.Empty(t, ended, "%s", &output)
		_, err := os.Stat(ready)
		programs := programsOf(t, killedStack)
		missing := func(program string) bool { return !slices.Contains(programs, program) }
		return err == nil && !slices.ContainsFunc(append(pluginsOfARun, "controlplane"), missing)
	})
	require.NoError(t, run.Process.Kill())
	require.Error(t, <-ended)
	r.eventually("nothing of the run is left", func() bool { return len(programsOf(t, killedStack)) == 0 })
}

// TestE2EIsKilled is what the run that is killed does.
func TestE2EIsKilled(t *testing.T) {
	ready := os.Getenv(killedVariable)
	if ready == "" {
		t.Skip("only for the test of a run that is killed")
	}
	r := newRehearsal(t, killedStack)
	r.mustRun(0, "up", "--lab", "--yes")
	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 104, address: 192.168.20.22}")
	r.mustRun(0, "lab", "fault", "set", "clone-hangs")
	cloned := r.clones()
	kill := r.startToKill("up", "--lab", "--yes")
	r.eventually("a clone was asked for", func() bool { return r.clones() > cloned }) // the plugins wait for its end
	kill()
	require.NoError(t, os.WriteFile(ready, nil, 0o600))
	<-t.Context().Done() // it is killed first
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
