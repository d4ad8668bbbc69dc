// Package e2e_test brings clusters up in the lab with the real engine and plugins, by the command line that a person uses.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
)

// workshop is the folder that the tool under test is built in, which goes with the tests.
var workshop string

// atOnce is how many tests run at once for each processor, unless -parallel says how many: most of the time one waits for delays
// of the emulated host.
const atOnce = 2

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runTests runs them in a workshop, with a lifeline for their labs.
func runTests(m *testing.M) (code int, err error) {
	if workshop, err = os.MkdirTemp("", "em-infra-e2e-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, lanes.remove(), os.RemoveAll(workshop)) }()
	lifeline, _, err := hold(filepath.Join(workshop, "lifeline"))
	if err != nil {
		return 1, err
	}
	defer lifeline.Close()
	if err := os.Setenv(lab.LifelineVariable, lifeline.Name()); err != nil {
		return 1, err
	}
	if err := runMoreAtOnce(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// runMoreAtOnce sets -parallel unless it was given.
func runMoreAtOnce() error {
	const parallel = "test.parallel"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if given {
		return nil
	}
	return flag.Set(parallel, strconv.Itoa(atOnce*runtime.GOMAXPROCS(0)))
}

// hold locks a file for as long as it is open; held is false when somebody else has it.
func hold(path string) (file *os.File, held bool, err error) {
	if file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, false, err
	}
	lock := &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, false, file.Close()
	}
	return file, err == nil, err
}

// toolVariable names the em-infra that another run of these tests has built.
const toolVariable = "EM_INFRA_TEST_TOOL"

// tool is the em-infra under test, built once.
var tool = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(toolVariable); built != "" {
		return built, nil
	}
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

// newRehearsal is a rehearsal of which nothing stands yet, with an inventory of one control plane and one worker, for a stack that
// the test has to itself; all of it is removed at the end. A test that does not look at the birth takes a [standing] one.
func newRehearsal(t testing.TB, stack string) *rehearsal {
	t.Helper()
	skipIfShort(t)
	r := &rehearsal{t: t, stack: stack, root: projectRoot(t), inventory: t.TempDir()}
	require.NoError(t, os.RemoveAll(r.dir()), "what an earlier run left behind")
	r.writeTestdata()
	t.Cleanup(func() {
		r.stopLab()
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(r.dir()))
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
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the engine and the plugins end with it
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
	var children []int
	for _, p := range processes(t) {
		if p.parent == parent && p.name == name {
			children = append(children, p.pid)
		}
	}
	return children
}

// process is one of this machine.
type process struct {
	pid, parent int
	name        string
}

// processes are all that run now.
func processes(t testing.TB) []process {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var found []process
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		var p process
		var state rune
		if _, err := fmt.Sscanf(string(text), "%d %s %c %d", &p.pid, &p.name, &state, &p.parent); err == nil { // else its name has spaces
			p.name = strings.Trim(p.name, "()")
			found = append(found, p)
		}
	}
	return found
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

// patience bounds a wait for what a running command or the lab does, on a machine that is busy with other things.
const patience = 10 * time.Minute

// eventually waits for something that a running command does.
func (r *rehearsal) eventually(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}
