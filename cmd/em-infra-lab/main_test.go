package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/tests/labstack"
)

// programVariable makes the test binary the program, so that it runs as a process of its own.
const programVariable = "EM_INFRA_LAB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
		stop()
		os.Exit(code)
	}
	os.Exit(inWorkshop(m))
}

// inWorkshop runs the tests. Their labs end with this process, also when it is killed.
func inWorkshop(m *testing.M) int {
	workshop, err := labstack.Open()
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if err := workshop.Close(); err != nil {
		panic(err)
	}
	return code
}

// asProcess returns the program with arguments, in a folder, not started yet.
func asProcess(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), programVariable+"=1")
	return c
}

// em runs the program to its end, and returns what it printed and its exit code.
func em(t *testing.T, dir string, args ...string) (out, problems string, code int) {
	t.Helper()
	var outBuffer, problemsBuffer bytes.Buffer
	c := asProcess(t, dir, args...)
	c.Stdout, c.Stderr = &outBuffer, &problemsBuffer
	if err := c.Run(); c.ProcessState == nil {
		require.NoError(t, err)
	}
	return outBuffer.String(), problemsBuffer.String(), c.ProcessState.ExitCode()
}

// ok runs the program and expects it to succeed.
func ok(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, problems, code := em(t, dir, args...)
	require.Zero(t, code, "%v: %s", args, problems)
	return out
}

// eventually is the time limit for what takes no time on an idle machine.
const eventually = time.Minute

// proxmoxClient returns a go-proxmox client, configured from what `env` prints for the lab in a folder.
func proxmoxClient(t *testing.T, dir string) *client.Client {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(ok(t, dir, "env")) {
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		require.True(t, found, line)
		env[name] = strings.Trim(value, "'")
	}
	id, secret, _ := strings.Cut(env["PROXMOX_VE_API_TOKEN"], "=")
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: env["PROXMOX_VE_INSECURE"] == "true"}} //nolint:gosec // as the program says
	return client.NewClient(env["PROXMOX_VE_ENDPOINT"]+"/api2/json",
		client.WithHTTPClient(&http.Client{Transport: transport}), client.WithAPIToken(id, secret))
}

// do waits for a task and expects it to succeed.
func do(t *testing.T, task *client.Task, err error) {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, task.Wait(t.Context(), 10*time.Millisecond, eventually))
	require.True(t, task.IsSuccessful, task.ExitStatus)
}

// stopAtTheEnd leaves no lab behind, regardless of the result of the test.
func stopAtTheEnd(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		_, err := lab.Stop(context.Background(), filepath.Join(dir, usualDir))
		require.NoError(t, err)
	})
}

// TestSomebodyElsesTool starts a lab without a description, uses it with a third-party client, sets a fault, and stops it.
// After a restart its content is unchanged.
func TestSomebodyElsesTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopAtTheEnd(t, dir)

	started := ok(t, dir, "start", "--time-scale", "0", "--pve", "9.1")
	require.Regexp(t, `^host pve \(Proxmox VE 9\.1\) on https://127\.0\.0\.1:\d+, time scale 0 · next: eval "\$\(em-infra-lab env\)"\n$`, started)
	require.Equal(t, started, ok(t, dir, "start"), "one that runs is left alone")
	require.Equal(t, "there is none\n", ok(t, dir, "machines"))

	c := proxmoxClient(t, dir)
	version, err := c.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9.1", version.Release)
	node, err := c.Node(t.Context(), "pve")
	require.NoError(t, err)
	task, err := node.NewVirtualMachine(t.Context(), 9000,
		client.VirtualMachineOption{Name: "name", Value: "template"}, client.VirtualMachineOption{Name: "scsi0", Value: "local-lvm:8"})
	do(t, task, err)
	template, err := node.VirtualMachine(t.Context(), 9000)
	require.NoError(t, err)
	task, err = template.ConvertToTemplate(t.Context())
	do(t, task, err)
	_, task, err = template.Clone(t.Context(), &client.VirtualMachineCloneOptions{NewID: 101, Name: "web", Full: true})
	do(t, task, err)
	machine, err := node.VirtualMachine(t.Context(), 101)
	require.NoError(t, err)
	task, err = machine.Start(t.Context())
	do(t, task, err)
	require.Equal(t, `VMID  NAME      HOST  STATUS    LOCK
101   web       pve   running
9000  template  pve   template
`, ok(t, dir, "machines"))

	require.Equal(t, "start-fails is set: VM 101, 1 time · next: em-infra-lab fault clear start-fails\n",
		ok(t, dir, "fault", "set", "start-fails", "--vm", "101", "--times", "1"))
	_, problems, code := em(t, dir, "destroy", "101")
	require.Equal(t, 3, code)
	require.Equal(t, "VM 101 is running: switch it off first with `em-infra-lab stop-vm 101`\n", problems)
	require.Equal(t, "VM 101 boots\n", ok(t, dir, "reset", "101"))
	require.Equal(t, "VM 101 is off\n", ok(t, dir, "stop-vm", "101"))
	require.Equal(t, "VM 101 is off\n", ok(t, dir, "stop-vm", "101"), "one that is off stays so")

	require.Equal(t, "the lab in .em-infra-lab is stopped; `em-infra-lab start` brings it back as it was\n", ok(t, dir, "stop"))
	_, problems, code = em(t, dir, "machines")
	require.Equal(t, 3, code)
	require.Equal(t, "the lab in .em-infra-lab is not running: start it with `em-infra-lab start`\n", problems)
	require.Equal(t, started, ok(t, dir, "start"), "the same address, the same token")
	require.Contains(t, ok(t, dir, "machines"), "101   web       pve   stopped")
	require.Equal(t, "VM 101 is deleted\n", ok(t, dir, "destroy", "101"))
}

// processesOf returns the processes of a session, by their IDs (proc(5), stat).
func processesOf(t *testing.T, session int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	afterName := regexp.MustCompile(`^(\d+) \(.*\) (\S) \d+ \d+ (\d+) `)
	var found []int
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		fields := afterName.FindStringSubmatch(string(text))
		if fields == nil || fields[2] == "Z" || fields[3] != strconv.Itoa(session) {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		found = append(found, pid)
	}
	return found
}

// TestAKilledLabLeavesNoProcess kills a lab that was started in the background: nothing of it runs on, and the next one has what
// it had.
func TestAKilledLabLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopAtTheEnd(t, dir)
	ok(t, dir, "start", "--time-scale", "0")
	c := proxmoxClient(t, dir)
	node, err := c.Node(t.Context(), "pve")
	require.NoError(t, err)
	task, err := node.NewVirtualMachine(t.Context(), 101, client.VirtualMachineOption{Name: "scsi0", Value: "local-lvm:8"})
	do(t, task, err)
	saved := filepath.Join(dir, usualDir, "host.json")
	polltest.Until(t, func() bool {
		text, err := os.ReadFile(saved)
		return err == nil && strings.Contains(string(text), "vm-101-disk-0") && !strings.Contains(string(text), `"lock":"create"`)
	})

	pid, err := lab.Running(filepath.Join(dir, usualDir))
	require.NoError(t, err)
	require.Equal(t, []int{pid}, processesOf(t, pid), "a session of its own")
	running, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, running.Kill())
	polltest.Until(t, func() bool { return len(processesOf(t, pid)) == 0 })
	polltest.Until(t, func() bool { // the kernel closes the files of a process, and with them its lock, after its memory
		still, err := lab.Running(filepath.Join(dir, usualDir))
		return err == nil && still == 0
	})
	require.Contains(t, ok(t, dir, "status"), "lab                 stopped\n")
	ok(t, dir, "start")
	require.Contains(t, ok(t, dir, "machines"), "\n101 ")
}

// TestServeEndsWithAnInterrupt runs a lab in the foreground, with hosts of a file.
func TestServeEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte("hosts: [{name: one}, {name: two, cores: 4}]\n"), 0o600))
	serve := asProcess(t, dir, "serve", "--hosts", "hosts.yaml", "--time-scale", "0")
	out, err := serve.StdoutPipe()
	require.NoError(t, err)
	var problems bytes.Buffer
	serve.Stderr = &problems
	require.NoError(t, serve.Start())
	t.Cleanup(func() { _ = serve.Process.Kill() }) // it has ended long since, unless the test failed
	first := make([]byte, 1)
	_, err = io.ReadFull(out, first)
	require.NoError(t, err, problems.String())

	nodes, err := proxmoxClient(t, dir).Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 2)

	require.NoError(t, serve.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Contains(t, string(first)+string(rest), "host one (Proxmox VE 8.4) on https://127.0.0.1:")
	require.NoError(t, serve.Wait(), problems.String())
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte("hosts: [{name: one, core: 4}]\n"), 0o600))
	for _, test := range []struct {
		args     []string
		problems string
	}{
		{[]string{"status"}, "there is no lab in .em-infra-lab yet: start one with `em-infra-lab start`\n"},
		{[]string{"env", "--dir", "other"}, "there is no lab in other yet: start one with `em-infra-lab start --dir other`\n"},
		{[]string{"status", "--dir", "a b"}, "there is no lab in a b yet: start one with `em-infra-lab start --dir 'a b'`\n"},
		{[]string{"start", "--hosts", "hosts.yaml"}, "hosts.yaml:1: hosts[0].core: no such key: did you mean cores?\n"},
		{[]string{"start", "--pve", "7.4"}, "--pve: proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1\n"},
		{[]string{"serve", "--time-scale", "fast"}, "--time-scale: time scale must be a number of 0 or more, not fast: choose 0 for no delay, 1 for the speed of a small server\n"},
		{[]string{"unlock", "web"}, "\"web\" is no VMID: `em-infra-lab machines` lists them\n"},
		{[]string{"unlock"}, "name one VM, got 0: see `em-infra-lab unlock --help`\n"},
		{[]string{"status", "--output", "xml"}, "--output: \"xml\" is no format: choose text or json\n"},
	} {
		t.Run(fmt.Sprint(test.args), func(t *testing.T) {
			t.Parallel()
			out, problems, code := em(t, dir, test.args...)
			require.Empty(t, out)
			require.Equal(t, test.problems, problems)
			require.Equal(t, 3, code)
			require.NoDirExists(t, filepath.Join(dir, usualDir), "nothing was made")
		})
	}
}
