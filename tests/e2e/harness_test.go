// Package e2e_test runs the em-infra command on clusters in the lab, with the real engine and plugins.
package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
	"github.com/em-infra/em-infra/tests/labstack"
)

// workshop is the folder where the tool under test is built. It is removed after the tests.
var workshop *labstack.Workshop

// atOnce is how many tests run at once for each processor, unless -parallel says how many. A test waits for nearly half of its time. With more of
// them, the processors are busy, and the polling of the labs takes the time that the other tests need.
const atOnce = 2

func TestMain(m *testing.M) {
	os.Exit(labstack.Run(m, atOnce, func(w *labstack.Workshop) { workshop = w }, lanes.remove))
}

// rehearsal is a stack of its own in this checkout, with an inventory that a test may edit.
type rehearsal struct {
	t         testing.TB
	stack     string
	root      string
	inventory string
	env       []string // of its commands, beside that of the test
	computer  string   // the name of the computer that its commands run on; empty for this one
	lab       string   // the name of a lab that it shares with other stacks; empty for its own
}

// newRehearsal returns an empty rehearsal, with an inventory of one control plane and one worker, for a stack of the test's
// own; all of it is removed at the end. A test that does not check the birth takes a [standing] one.
func newRehearsal(t testing.TB, stack string) *rehearsal {
	t.Helper()
	skipIfShort(t)
	r := &rehearsal{t: t, stack: stack, root: projectRoot(t), inventory: t.TempDir()}
	require.NoError(t, labstack.RemoveFolder(r.dir()), "what an earlier run left behind")
	r.writeTestdata()
	t.Cleanup(func() {
		r.stopLab()
		if !t.Failed() {
			require.NoError(t, labstack.RemoveFolder(r.dir()))
		}
	})
	return r
}

func skipIfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("end to end: builds the tool chain and takes minutes")
	}
}

func projectRoot(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	return root
}

// writeTestdata writes the inventory of testdata.
func (r *rehearsal) writeTestdata() {
	r.t.Helper()
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		r.writeInventory(name, r.read(filepath.Join("testdata", "inventory", name)))
	}
}

// dir returns the folder of the rehearsal.
func (r *rehearsal) dir() string { return r.onLab("").Dir() }

// labDir returns the folder of its lab.
func (r *rehearsal) labDir() string {
	if r.lab != "" {
		return filepath.Join(r.root, ".lab", r.lab)
	}
	return r.dir()
}

func (r *rehearsal) read(path string) string {
	r.t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(r.t, err)
	return string(text)
}

func (r *rehearsal) writeInventory(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.inventory, name), []byte(text), 0o600))
}

// addNode appends an item to nodes.yaml.
func (r *rehearsal) addNode(item string) {
	r.t.Helper()
	r.writeInventory("nodes.yaml", strings.TrimRight(r.read(filepath.Join(r.inventory, "nodes.yaml")), "\n")+"\n  - "+item+"\n")
}

func (r *rehearsal) command(ctx context.Context, args ...string) *exec.Cmd {
	r.t.Helper()
	path, err := workshop.Tool()
	require.NoError(r.t, err)
	if checkout := projectRoot(r.t); r.root != checkout {
		require.NoError(r.t, workshop.BuildTools(checkout))
	}
	command := r.onLab(path).Command(ctx, args...)
	if r.computer != "" {
		ownComputer(r.t, command, r.computer)
	}
	return command
}

// onLab returns the rehearsal's stack with a tool.
func (r *rehearsal) onLab(tool string) labstack.Stack {
	return labstack.Stack{Name: r.stack, Root: r.root, Inventory: r.inventory, Tool: tool, Env: r.env}
}

// result is the result of a command.
type result struct {
	code   int
	output string
}

// run runs a command of em-infra on the rehearsal's stack.
func (r *rehearsal) run(args ...string) result {
	r.t.Helper()
	ended := r.start(args...).wait()
	r.requireDocumented(args, ended.output)
	return ended
}

// mustRun is run, with the exit code that is expected.
func (r *rehearsal) mustRun(code int, args ...string) string {
	r.t.Helper()
	result := r.run(args...)
	require.Equal(r.t, code, result.code, "%s", result.output)
	return result.output
}

// onTerminal is mustRun on a terminal of 80 columns with colours, where no line may wrap.
func (r *rehearsal) onTerminal(code int, args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), runBound)
	defer cancel()
	command := r.command(ctx, append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	command.Env = ptytest.Environment(command.Env)
	screen, _ := ptytest.Run(r.t, command, terminal.Columns) // the exit code says how it ended
	require.Equal(r.t, code, command.ProcessState.ExitCode(), "%s", screen)
	ptytest.RequireFits(r.t, screen, terminal.Columns)
	return screen
}

// begin starts a command, and returns it with the buffer that holds its output once it has ended.
func (r *rehearsal) begin(args ...string) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	command := r.command(context.Background(), append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	output := &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	require.NoError(r.t, command.Start())
	return command, output
}

// startToKill begins a command that the test will kill. kill sends SIGKILL to it, to its engine, and to the guard of the
// engine's plugins.
func (r *rehearsal) startToKill(args ...string) (kill func()) {
	r.t.Helper()
	return r.startWith([]string{"pulumi", "em-infra", "sh"}, args...)
}

// startWith begins a command that the test will kill, together with those of its children that run programs of these names.
func (r *rehearsal) startWith(children []string, args ...string) (kill func()) {
	r.t.Helper()
	command, output := r.begin(args...)
	return func() {
		r.t.Helper()
		pids := []int{command.Process.Pid}
		for _, name := range children {
			pids = append(childrenNamed(r.t, command.Process.Pid, name), pids...) // the guard first, before it is called to work
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				require.NoError(r.t, err)
			}
		}
		err := command.Wait()
		var exit *exec.ExitError
		require.ErrorAs(r.t, err, &exit, "the command ended before it was killed: %s", output.String())
	}
}

// childrenNamed returns the child processes of a process that run a program of that name.
func childrenNamed(t testing.TB, parent int, name string) []int {
	t.Helper()
	children, err := labstack.ChildrenNamed(parent, name)
	require.NoError(t, err)
	return children
}

// calls returns the calls to the lab's Proxmox VE so far.
func (r *rehearsal) calls() []proxmox.Call {
	r.t.Helper()
	calls, err := labstack.Calls(r.labDir())
	require.NoError(r.t, err)
	return calls
}

// writes returns the calls that may have changed the host.
func writes(calls []proxmox.Call) []string { return labstack.Writes(calls) }

// eventually waits for something that a running command does.
func (r *rehearsal) eventually(what string, holds func() bool) {
	r.t.Helper()
	polltest.Until(r.t, holds, what)
}
