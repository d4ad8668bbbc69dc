package proxmox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const resources = "/cluster/ha/resources"

// newHALab returns a lab whose token has all privileges, with VM 101 on a disk that both hosts can access.
func newHALab(t *testing.T, change func(*proxmox.Config)) *lab {
	t.Helper()

	l := newLab(t, func(c *proxmox.Config) {
		c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil

		if change != nil {
			change(c)
		}
	})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 name=a memory=1024 scsi0=nas:1 net0=virtio,bridge=vmbr0"))

	return l
}

// ha returns the manager's state of VM 101.
func (l *lab) ha(node string) string {
	l.t.Helper()

	var current struct {
		Status string
		HA     struct {
			Managed int
			State   string
		}
	}

	l.ok(http.MethodGet, "/nodes/"+node+"/qemu/101/status/current", nil, &current)

	if current.HA.Managed == 0 {
		return current.Status + ", unmanaged"
	}

	return current.Status + ", " + current.HA.State
}

// becomes waits until the manager's state of VM 101 is want and no task runs: a VM runs a moment before the task that started
// it ends, and a power cut in that moment leaves a task without an exit status.
func (l *lab) becomes(node, want string) {
	l.t.Helper()
	polltest.Until(l.t, func() bool {
		r := l.do(http.MethodGet, "/nodes/"+node+"/qemu/101/status/current", nil)
		running := func(task string) bool { return strings.HasSuffix(task, ": ") }

		return r.Status == "200 OK" && l.ha(node) == want && !slices.ContainsFunc(l.tasksOf(), running)
	}, want)
}

// tasksOf returns the tasks of VM 101, oldest first, as "type user: exit status". A task that runs has no exit status.
func (l *lab) tasksOf() []string {
	l.t.Helper()

	var list []struct{ Type, User, Status, ID string }

	l.ok(http.MethodGet, "/cluster/tasks", nil, &list)

	var kinds []string

	for i := len(list) - 1; i >= 0; i-- {
		kinds = append(kinds, list[i].Type+" "+list[i].User+": "+list[i].Status)
	}

	return kinds
}

// TestHAKeepsAVMRunning follows a managed VM: power requests go to the manager, which starts a VM that stopped by itself, and
// after a power cut even a VM that does not start with its host.
func TestHAKeepsAVMRunning(t *testing.T) {
	t.Parallel()

	l := newHALab(t, nil)
	require.Equal(t, "stopped, unmanaged", l.ha(node))

	l.ok(http.MethodPost, resources, values("sid=101 state=started comment=x max_restart=2"), nil)
	l.becomes(node, "running, started")

	l.server.GuestPoweredOff(101)
	l.becomes(node, "running, started")

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", nil)
	l.becomes(node, "stopped, stopped")
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	l.becomes(node, "running, started")

	require.NoError(t, l.server.PowerCut())
	polltest.Until(t, func() bool {
		r, err := l.try(t.Context(), l.token, http.MethodGet, "/version", nil)
		return err == nil && r.Status == "200 OK"
	})
	l.becomes(node, "running, started")

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.becomes(node, "stopped, stopped")
	require.Equal(t, []string{
		"qmcreate terraform@pve: OK", "qmstart root@pam: OK", "qmstart root@pam: OK",
		"hastop terraform@pve: OK", "qmshutdown root@pam: OK", "hastart terraform@pve: OK", "qmstart root@pam: OK",
		"qmstart root@pam: OK", "hastop terraform@pve: OK", "qmstop root@pam: OK",
	}, l.tasksOf())

	require.Equal(t, map[string]string{"overrule-shutdown": "Not applicable for HA resources."},
		l.do(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", values("overrule-shutdown=1")).Errors)
}

// TestHAGivesUp checks that a VM that fails to start gets an error state, which must be cleared first.
func TestHAGivesUp(t *testing.T) {
	t.Parallel()

	inside := &machines{broken: true}
	l := newHALab(t, func(c *proxmox.Config) { c.Machines = inside })
	l.ok(http.MethodPost, resources, values("sid=vm:101 max_restart=2 max_relocate=1"), nil)
	l.becomes(node, "stopped, error")

	const failed = "qmstart root@pam: start failed: QEMU exited with code 1"

	require.Equal(t, strings.Repeat(failed+"\n", 6), strings.Join(l.tasksOf()[1:], "\n")+"\n")

	require.Equal(t, "command 'ha-manager set vm:101 --state started' failed: exit code 255",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
	require.Equal(t, "500 service 'vm:101' in error state, must be disabled and fixed first",
		l.do(http.MethodPut, resources+"/vm:101", values("state=started")).Status)

	inside.mu.Lock()
	inside.broken = false
	inside.mu.Unlock()

	l.ok(http.MethodPut, resources+"/vm:101", values("state=disabled"), nil)
	l.becomes(node, "stopped, stopped")
	l.ok(http.MethodPut, resources+"/vm:101", values("state=enabled"), nil)
	l.becomes(node, "running, started")
}

// TestHAMigrates checks that the manager performs a migration.
func TestHAMigrates(t *testing.T) {
	t.Parallel()

	l := newHALab(t, nil)
	l.ok(http.MethodPost, resources, values("sid=vm:101"), nil)
	l.becomes(node, "running, started")
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/migrate", values("target=vmhost2 online=1"))
	l.becomes("vmhost2", "running, started")
	require.Equal(t, []string{"hamigrate terraform@pve: OK", "qmigrate root@pam: OK"}, l.tasksOf()[2:])
}

// TestHADelete checks that a managed VM can be deleted with purge only, and what remains.
func TestHADelete(t *testing.T) {
	t.Parallel()

	l := newHALab(t, nil)
	l.ok(http.MethodPost, resources, values("sid=vm:101 state=stopped"), nil)
	require.Equal(t, "500 unable to remove VM 101 - used in HA resources and purge parameter not set.",
		l.do(http.MethodDelete, "/nodes/vmhost/qemu/101", nil).Status)

	var upid string

	l.ok(http.MethodDelete, "/nodes/vmhost/qemu/101/", values("purge=1 destroy-unreferenced-disks=1"), &upid)
	require.Equal(t, "OK", l.wait(upid).ExitStatus)
	require.Contains(t, l.log(upid), "NOTE: removed VM 101 from HA resource configuration.")

	var left []any

	l.ok(http.MethodGet, resources, nil, &left)
	require.Empty(t, left)
}

// TestHAIgnored checks that an ignored VM is treated like an unmanaged one.
func TestHAIgnored(t *testing.T) {
	t.Parallel()

	l := newHALab(t, nil)
	l.ok(http.MethodPost, resources, values("sid=vm:101 state=ignored"), nil)
	require.Equal(t, "stopped, unmanaged", l.ha(node))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	require.Equal(t, "stopped, unmanaged", l.ha(node))
	l.ok(http.MethodDelete, resources+"/101", nil, nil)
	require.Equal(t, "500 cannot delete service 'vm:101', not HA managed!", l.do(http.MethodDelete, resources+"/101", nil).Status)
}

// TestHAOutlivesARestart checks that a lab that is stopped during a round continues it after a restart.
func TestHAOutlivesARestart(t *testing.T) {
	t.Parallel()

	slow, err := pace.New(10)
	require.NoError(t, err)

	file := stateFile(t)
	config := testConfig()
	config.StateFile, config.Pace = file, slow
	config.Tokens = []proxmox.Token{{ID: operator, Secret: "x", Role: "Administrator"}}

	quick := config
	quick.Pace = pace.Pace{}

	first := startLab(t, quick, operator+"=x")
	first.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 memory=1024 scsi0=nas:1"))
	require.NoError(t, first.server.Close())

	second := startLab(t, config, operator+"=x")
	second.ok(http.MethodPost, resources, values("sid=vm:101"), nil)
	require.NoError(t, second.server.Close())

	third := startLab(t, quick, operator+"=x")
	third.becomes(node, "running, started")
}

// TestHAResources checks the resources in the API and their errors.
func TestHAResources(t *testing.T) {
	t.Parallel()

	l := newHALab(t, nil)
	l.ok(http.MethodPost, resources, values("sid=vm:101 state=stopped group=later comment=x max_relocate=0"), nil)

	var got map[string]any

	l.ok(http.MethodGet, resources+"/vm%3A101", nil, &got)

	digest, _ := got["digest"].(string)
	require.Len(t, digest, 40)
	require.Equal(t, map[string]any{
		"sid": "vm:101", "type": "vm", "digest": digest, "state": "stopped", "group": "later", "comment": "x", "max_relocate": 0.0,
	}, got)

	var list []map[string]any

	l.ok(http.MethodGet, resources, values("type=ct"), &list)
	require.Empty(t, list)
	l.ok(http.MethodGet, resources, values("type=vm"), &list)
	require.Equal(t, map[string]any{"group": "group 'later' does not exist"}, list[0]["errors"])

	l.ok(http.MethodPut, resources+"/vm:101", values("delete=comment,max_relocate max_restart=3 digest="+digest), nil)
	l.ok(http.MethodGet, resources+"/101", nil, &got)
	require.Equal(t, 3.0, got["max_restart"])

	tests := map[string]struct{ verb, path, params, status string }{
		"taken":           {"POST", "", "sid=101", "create resource failed: resource ID 'vm:101' already defined"},
		"no VM":           {"POST", "", "sid=vm:199", "resource 'vm:199' does not exist in cluster"},
		"no VM, short":    {"POST", "", "sid=199", "unable do detect SID from VMID - VM/CT 199 does not exist"},
		"container":       {"POST", "", "sid=ct:199", "resource 'ct:199' does not exist in cluster"},
		"other type":      {"POST", "", "sid=db:1", "unknown section type 'db'"},
		"odd VMID":        {"POST", "", "sid=vm:01", "invalid VMID"},
		"types differ":    {"POST", "", "sid=vm:101 type=ct", "types does not match"},
		"unknown":         {"GET", "/vm:199", "", "no such resource 'vm:199'"},
		"update unknown":  {"PUT", "/vm:199", "comment=x", "update resources config failed: no such resource 'vm:199'"},
		"no group":        {"PUT", "/vm:101", "group=xy", "HA group 'xy' does not exist"},
		"no such option":  {"PUT", "/vm:101", "delete=sid", "update resources config failed: no such option 'sid'"},
		"somebody else's": {"PUT", "/vm:101", "comment=y digest=" + digest, "update resources config failed: detected modified configuration - file changed by other user? Try again."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "500 "+test.status, l.do(test.verb, resources+test.path, values(test.params)).Status)
		})
	}
}

// TestHAWithoutGroups checks that Proxmox VE 9, whose groups became rules, has none.
func TestHAWithoutGroups(t *testing.T) {
	t.Parallel()

	l := newHALab(t, func(c *proxmox.Config) { c.Release = schema.Release91 })

	const migrated = "500 invalid parameter 'group': ha groups have been migrated to rules"

	require.Equal(t, migrated, l.do(http.MethodPost, resources, values("sid=101 group=xy")).Status)
	l.ok(http.MethodPost, resources, values("sid=101 state=stopped failback=0"), nil)
	require.Equal(t, migrated, l.do(http.MethodPut, resources+"/101", values("group=xy")).Status)
	l.ok(http.MethodDelete, resources+"/101", values("purge=1"), nil)
}
