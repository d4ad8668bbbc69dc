package proxmox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestHostComesBack restarts a lab: it is the same host, as after a power cut.
func TestHostComesBack(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	before := newLab(t, func(c *proxmox.Config) { c.StateFile = file })
	before.template()
	before.ok(http.MethodPost, "/pools", values("poolid=k3s comment=x"), nil)
	before.ok(http.MethodPost, "/nodes/vmhost/network", values("iface=vmbr1 type=bridge"), nil)
	before.ok(http.MethodPost, "/cluster/mapping/usb", values("id=stick map=node=vmhost,id=0951:1666"), nil)
	before.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 pool=k3s"))
	before.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("onboot=1 startup=order=2"), nil)
	before.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 onboot=1 startup=1 start=1"))
	before.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=103 start=1"))

	configs := []map[string]any{before.config("101"), before.config("102"), before.config("9000")}
	volumes := before.server.Volumes()
	done := len(tasksOf(before))

	require.NoError(t, before.server.Close())

	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	m := &machines{}
	after := newLab(t, func(c *proxmox.Config) { c.StateFile, c.Machines = file, m })
	require.Equal(t, configs, []map[string]any{after.config("101"), after.config("102"), after.config("9000")})
	require.Equal(t, volumes, after.server.Volumes())
	require.GreaterOrEqual(t, len(tasksOf(after)), done)

	var pool struct{ Members []struct{ VMID int } }

	after.ok(http.MethodGet, "/pools/k3s", nil, &pool)
	require.Equal(t, 101, pool.Members[0].VMID)
	after.ok(http.MethodGet, "/nodes/vmhost/network/vmbr1", nil, nil)
	after.ok(http.MethodGet, "/cluster/mapping/usb/stick", nil, nil)

	// VMs that start with the host start in their order; the others stay off.
	polltest.Until(t, func() bool { return len(m.seen()) == 2 })
	require.Equal(t, []string{"on 102", "on 101"}, m.seen())
	require.Equal(t, "stopped", after.status("103"))

	// No generated value repeats.
	after.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=104 full=1"))
	require.NotEqual(t, after.config("101")["net0"], after.config("104")["net0"])
}

type listedTask struct{ UPID, Type, Status string }

func tasksOf(l *lab) []listedTask {
	var tasks []listedTask

	l.ok(http.MethodGet, "/nodes/vmhost/tasks", values("source=all limit=1000"), &tasks)

	return tasks
}

// TestKilledLab checks that a killed lab has saved everything but its last moment.
func TestKilledLab(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	l := newLab(t, func(c *proxmox.Config) { c.StateFile = file })
	l.template()

	polltest.Until(t, func() bool {
		raw, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(raw), "base-9000-disk-0")
	})

	raw, err := os.ReadFile(file)
	require.NoError(t, err)

	copied := stateFile(t)
	require.NoError(t, os.WriteFile(copied, raw, 0o600))

	after := newLab(t, func(c *proxmox.Config) { c.StateFile = copied })
	require.Equal(t, []int{9000}, after.vmids())
}

// TestWorkersCutShort checks the state after a power cut during a clone: a locked VM and a task without an end.
func TestWorkersCutShort(t *testing.T) {
	t.Parallel()

	slow := newSlowSteps(proxmox.StepCopy)
	m := &machines{}
	l := newLab(t, func(c *proxmox.Config) { c.Faults, c.Machines = slow, m })
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 onboot=1 start=1"))

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"), &upid)
	<-slow.reached
	require.NoError(t, l.server.PowerCut())

	polltest.Until(t, func() bool { return len(m.seen()) == 3 })
	require.Equal(t, []string{"on 102", "off 102", "on 102"}, m.seen())
	require.Equal(t, "unexpected status", l.wait(upid).ExitStatus)
	require.Equal(t, "clone", l.config("101")["lock"])
	require.Equal(t, "VM is locked (clone)", l.task(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
}

// TestHostWithoutPower checks that a host does not answer while it reboots, which takes a quarter of an hour on the first one, and answers afterwards.
func TestHostWithoutPower(t *testing.T) {
	t.Parallel()

	booting := newLab(t, func(c *proxmox.Config) { c.Pace = scaled(t, 10) })
	require.NoError(t, booting.server.PowerCut())

	_, err := booting.try(t.Context(), booting.token, http.MethodPost, "/pools", values("poolid=a1"))
	require.ErrorContains(t, err, "EOF")

	l := newLab(t, func(c *proxmox.Config) { c.Pace = scaled(t, 0.002) })
	require.NoError(t, l.server.PowerCut())
	polltest.Until(t, func() bool {
		r, err := l.try(t.Context(), l.token, http.MethodGet, "/version", nil)
		return err == nil && r.Status == "200 OK"
	})
}

func TestStateOfAnotherHost(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	start := func(content string, change func(*proxmox.Config)) error {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))

		config := testConfig()
		config.StateFile = file
		change(&config)

		_, err := proxmox.NewServer(config)

		return err
	}

	require.EqualError(t, start("{", func(*proxmox.Config) {}),
		"read the host's state from "+file+": unexpected end of JSON input: remove the file for a new host")
	require.EqualError(t, start(`{"format":1,"release":"8.4","state":{}}`, func(c *proxmox.Config) { c.Release = schema.Release91 }),
		"read the host's state from "+file+": it is of another host (format 1, proxmox ve 8.4): remove the file for a new host")
	require.EqualError(t, start(`{"format":2,"release":"8.4","state":{}}`, func(*proxmox.Config) {}),
		"read the host's state from "+file+": it is of another host (format 2, proxmox ve 8.4): remove the file for a new host")
}

// TestNoSecretIsKept checks that neither the state file nor the call log contains the token's secret.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()

	var log strings.Builder

	file := stateFile(t)
	l := newLab(t, func(c *proxmox.Config) { c.StateFile, c.Log = file, &log })
	l.template()
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/9000/config", values("cipassword=hunter2"), nil)
	require.NoError(t, l.server.Close())

	_, secret, _ := strings.Cut(l.token, "=")

	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
	require.NotContains(t, string(raw), "hunter2")
	require.NotContains(t, log.String(), secret)
	require.NotContains(t, log.String(), "hunter2")
}

// fullDisk is a log that cannot be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestCallLogThatCannotBeWritten checks that the host continues without a log, and returns the error at its end.
func TestCallLogThatCannotBeWritten(t *testing.T) {
	t.Parallel()

	config := testConfig()
	config.Log = fullDisk{}

	server, err := proxmox.NewServer(config)
	require.NoError(t, err)

	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api2/json/version", nil))
	require.Equal(t, http.StatusUnauthorized, recorder.Code)
	require.EqualError(t, server.Close(), "write the call log of the host: no space left on device")
}

func TestCallLog(t *testing.T) {
	t.Parallel()

	var log strings.Builder

	l := newLab(t, func(c *proxmox.Config) { c.Log = &log })
	l.template()
	l.do(http.MethodGet, "/nodes/vmhost/qemu/101/config", nil)
	l.do(http.MethodGet, "/nodes/vmhost/ceph", nil)

	calls := l.server.Calls()
	require.NoError(t, l.server.Close())

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, len(calls))

	var first, missing, unknown proxmox.Call

	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-2]), &missing))
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &unknown))

	require.True(t, first.Write())
	require.Equal(t, "POST /nodes/vmhost/qemu", first.Verb+" "+first.Path)
	require.Equal(t, operator, first.Identity)
	require.Equal(t, "Go-http-client/1.1", first.Client)
	require.True(t, strings.HasPrefix(first.Peer, "127.0.0.1:"), first.Peer)
	require.Positive(t, first.Milliseconds)

	require.False(t, missing.Write())
	require.Equal(t, "/nodes/{node}/qemu/{vmid}/config", missing.Endpoint)
	require.Equal(t, 101, missing.VMID)
	require.Equal(t, 500, missing.Status)
	require.Equal(t, "Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist", missing.Message)

	require.True(t, unknown.Unknown)
	require.Equal(t, 501, unknown.Status)
}

func TestHostsThatAreNone(t *testing.T) {
	t.Parallel()

	_, err := proxmox.NewServer(proxmox.Config{
		Hosts: []proxmox.Host{
			{Name: "a_b", Cores: 1, MemoryMiB: 1, Storages: []proxmox.Storage{
				{Name: "s", Type: "ceph"}, {Name: "dir", Type: "dir"}, {Name: "zfs", Type: "zfspool", Content: []string{"iso"}},
			}},
			{Name: "twin", Storages: []proxmox.Storage{{Name: "zfs", Type: "lvmthin"}}},
			{Name: "twin", Cores: 1, MemoryMiB: 1},
		},
		Tokens: []proxmox.Token{{ID: "root@pam", Secret: "x"}},
	})
	require.EqualError(t, err, strings.Join([]string{
		`lab host: "a_b" is no name for one: use letters, digits and dashes`,
		`lab host: a_b: "s" is no name for a storage`,
		`lab host: a_b: storage s has type "ceph", which is not emulated`,
		`lab host: a_b: storage dir of type dir needs a path`,
		`lab host: a_b: storage zfs of type zfspool cannot hold ISO files`,
		`lab host: twin needs at least one core and one MiB of memory`,
		`lab host: twin: storage zfs differs from the one of that name on another host`,
		`lab host: twin stands twice`,
		`lab host: token "root@pam" needs the form USER@REALM!NAME and a secret`,
	}, "\n"))

	_, err = proxmox.NewServer(proxmox.Config{})
	require.EqualError(t, err, "lab host: there is none: name at least one")

	config := testConfig()
	config.Release = "7.4"
	_, err = proxmox.NewServer(config)
	require.EqualError(t, err, "proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1")

	config.Release = ""
	config.Tokens = []proxmox.Token{{ID: operator, Secret: "x", Role: "None"}}
	_, err = proxmox.NewServer(config)
	require.EqualError(t, err, `lab host: role "None" of token terraform@pve!em-infra does not exist: give its privileges`)
}
