// Package e2e_test brings clusters up in the lab with the real engine and plugins, by the command line that a person uses.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
)

// workshop is the folder that the tool under test is built in, which goes with the tests.
var workshop string

func TestMain(m *testing.M) {
	var err error
	if workshop, err = os.MkdirTemp("", "em-infra-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(workshop); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// tool is the em-infra under test, built once.
var tool = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workshop, "em-infra")
	build := exec.Command("go", "build", "-o", path, "github.com/em-infra/em-infra/cmd/em-infra")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build em-infra: %w\n%s", err, output)
	}
	return path, nil
})

// rehearsal is a stack of its own in this checkout, with an inventory that a test may edit.
type rehearsal struct {
	t         testing.TB
	stack     string
	root      string
	inventory string
	env       []string // of its commands, beside that of the test
}

// newRehearsal copies an inventory of one control plane and one worker for a stack that the test has to itself, and
// removes all of it at the end.
func newRehearsal(t testing.TB, stack string) *rehearsal {
	t.Helper()
	if testing.Short() {
		t.Skip("end to end: builds the tool chain and takes minutes")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	r := &rehearsal{t: t, stack: stack, root: root, inventory: t.TempDir()}
	require.NoError(t, os.RemoveAll(r.dir()), "what an earlier run left behind")
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		r.writeInventory(name, r.read(filepath.Join("testdata", "inventory", name)))
	}
	t.Cleanup(func() {
		stop := r.command(context.Background(), "lab", "stop", "--stack", r.stack)
		if output, err := stop.CombinedOutput(); err != nil {
			t.Errorf("lab stop: %v\n%s", err, output)
		}
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(r.dir()))
		}
	})
	return r
}

// dir is the folder of the rehearsal.
func (r *rehearsal) dir() string { return filepath.Join(r.root, ".lab", r.stack) }

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
	path, err := tool()
	require.NoError(r.t, err)
	command := exec.CommandContext(ctx, path, args...)
	// What the tool tells people to run begins with its name, where a shell finds it.
	onPath := "PATH=" + filepath.Dir(path) + string(filepath.ListSeparator) + os.Getenv("PATH")
	command.Dir, command.Env = r.root, append(append(os.Environ(), onPath), r.env...)
	return command
}

// result is how a command ended.
type result struct {
	code   int
	output string
}

// run runs a command of em-infra on the rehearsal's stack.
func (r *rehearsal) run(args ...string) result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Minute) // the first one may build the tool chain
	defer cancel()
	command := r.command(ctx, append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	started := time.Now()
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(r.t, err)
	}
	r.t.Logf("em-infra %s: exit code %d after %s", strings.Join(args, " "), command.ProcessState.ExitCode(), time.Since(started).Round(100*time.Millisecond))
	r.requireDocumented(args, string(output))
	return result{code: command.ProcessState.ExitCode(), output: string(output)}
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
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Minute)
	defer cancel()
	command := r.command(ctx, append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	command.Env = ptytest.Environment(command.Env)
	screen, _ := ptytest.Run(r.t, command, terminal.Columns) // the exit code says how it ended
	require.Equal(r.t, code, command.ProcessState.ExitCode(), "%s", screen)
	ptytest.RequireFits(r.t, screen, terminal.Columns)
	return screen
}

// begin begins a command, and returns it with what it will have printed when it has ended.
func (r *rehearsal) begin(args ...string) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	command := r.command(context.Background(), append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	output := &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	require.NoError(r.t, command.Start())
	return command, output
}

// start begins a command that the test will kill. kill is a kill -9 of it, of the engine that it runs, and of the guard over the
// engine's plugins.
func (r *rehearsal) start(args ...string) (kill func()) {
	r.t.Helper()
	return r.startWith([]string{"pulumi", "em-infra"}, args...)
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

// childrenNamed are the child processes of a process that run a program of that name.
func childrenNamed(t testing.TB, parent int, name string) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var children []int
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		var pid, ppid int
		var comm string
		var state rune
		if _, err := fmt.Sscanf(string(text), "%d %s %c %d", &pid, &comm, &state, &ppid); err == nil && ppid == parent && comm == "("+name+")" {
			children = append(children, pid)
		}
	}
	return children
}

// calls are what was asked of the lab's Proxmox VE so far.
func (r *rehearsal) calls() []proxmox.Call {
	r.t.Helper()
	file, err := os.Open(filepath.Join(r.dir(), "calls-proxmox.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(r.t, err)
	defer file.Close()
	var calls []proxmox.Call
	for decoder := json.NewDecoder(file); ; {
		var c proxmox.Call
		err := decoder.Decode(&c)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return calls // the last line may be in the making
		}
		require.NoError(r.t, err)
		calls = append(calls, c)
	}
}

// writes are the calls that may have changed the host.
func writes(calls []proxmox.Call) []string {
	var found []string
	for _, c := range calls {
		if c.Write() {
			found = append(found, c.Verb+" "+c.Path)
		}
	}
	return found
}

// eventually waits for something that a running command does.
func (r *rehearsal) eventually(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited two minutes for: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
