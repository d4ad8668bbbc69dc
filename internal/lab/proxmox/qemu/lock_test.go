package qemu_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/mapping"
	"github.com/em-infra/em-infra/internal/lab/proxmox/network"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storages"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// manager is an HA manager that queries the node of a VM in every call, as the real one does while it holds its own lock: it
// blocks if the caller holds the VMs' lock. It records the names of its calls.
type manager struct {
	vms   *qemu.Service
	calls chan string
}

func (m *manager) asked(call string, vmid int) {
	m.vms.Find(vmid)
	m.calls <- call
}

func (m *manager) Configured(vmid int) bool {
	m.asked("Configured", vmid)
	return false
}

func (m *manager) Managed(vmid int) bool {
	m.asked("Managed", vmid)
	return false
}

func (m *manager) Status(vmid int) (group, state string, managed bool) {
	m.asked("Status", vmid)
	return "", "", false
}

func (m *manager) Tend(vmid int) { m.asked("Tend", vmid) }

func (m *manager) Forget(vmid int) bool {
	m.asked("Forget", vmid)
	return true
}

func (*manager) RequestStart(*api.Call) (any, error)     { return nil, nil }
func (*manager) RequestStop(*api.Call, int) (any, error) { return nil, nil }
func (*manager) RequestMove(*api.Call) (any, error)      { return nil, nil }

// open allows every call, as root.
type open struct{}

func (open) Authenticate(*http.Request, string) (string, error) { return access.Root, nil }
func (open) Evaluate(schema.Rule, string, schema.Params) error  { return nil }
func (open) Call(context.Context, journal.Entry) error          { return nil }
func (open) Lost(journal.Entry) bool                            { return false }
func (open) Step(context.Context, task.Info, task.Step) error   { return nil }
func (open) Lag(task.Info, task.Effect) time.Duration           { return 0 }

// bench has the VMs of one host, with real parts around them except the HA manager.
type bench struct {
	env     *host.Environment
	vms     *qemu.Service
	manager *manager
	front   *api.Front
}

func newBench(t *testing.T, faults task.Faults) *bench {
	t.Helper()

	described, err := schema.Load(schema.Release84)
	require.NoError(t, err)

	hosts := []hardware.Host{{
		Name: "vmhost", Cores: 4, MemoryMiB: 8 << 10, Bridges: []hardware.Bridge{{Name: "vmbr0"}},
		Storages: []hardware.Storage{{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 64 << 30}},
	}}
	env := &host.Environment{
		Release: schema.Release84, Schema: described, Now: time.Now, Random: host.NewRandom([32]byte{}),
		Nodes: hardware.NewCluster(hosts), Guests: vmlist.New(), Locks: &flock.Locks{}, Tasks: task.NewWorkers(task.NewList(time.Now), func() {}),
		Faults: faults, Changed: func() {}, Note: func(what string, err error) { t.Errorf("%s: %s", what, err) },
	}
	t.Cleanup(env.Tasks.Stop)

	users := accesscontrol.New(env)
	disks, cards, devices := storages.New(env, users, nil, nil), network.New(env, users), mapping.New(env, users)
	disks.Adopt(hosts)
	cards.Adopt(hosts)

	b := &bench{env: env, manager: &manager{calls: make(chan string, 1000)}}
	b.vms = qemu.New(env, qemu.Parts{
		Permissions: users, Storages: disks, Network: cards, Mappings: devices, HA: b.manager, Machines: machine.None{},
	})
	b.manager.vms = b.vms
	b.front, err = api.NewFront(api.Config{
		Release: schema.Release84, Schema: described, Methods: b.vms.Methods(), Access: open{}, Nodes: env.Nodes, Faults: open{},
		Journal: journal.New(io.Discard), Now: time.Now, PowerCut: func() {},
	})
	require.NoError(t, err)

	return b
}

// ask sends a request, and waits for its task.
func (b *bench) ask(t *testing.T, verb, path string, params url.Values) {
	t.Helper()

	target, body := "/api2/json/nodes/vmhost/qemu"+path, ""
	if verb == http.MethodPost {
		body = params.Encode()
	} else {
		target += "?" + params.Encode()
	}

	request := httptest.NewRequest(verb, target, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

	recorded := httptest.NewRecorder()
	b.front.ServeHTTP(recorded, request)
	require.Equal(t, http.StatusOK, recorded.Code, "%s %s: %s", verb, path, recorded.Body)

	var answer struct{ Data any }

	require.NoError(t, json.Unmarshal(recorded.Body.Bytes(), &answer))

	upid, isTask := answer.Data.(string)
	if !isTask {
		return
	}

	require.NoError(t, b.env.Tasks.Await(t.Context(), upid))

	record, found := b.env.Tasks.List().Find(upid)
	require.True(t, found)
	require.Equal(t, task.StatusOK, record.Exit, "%s %s", verb, path)
}

// TestTheHAManagerIsCalledWithoutTheLock runs everything that calls the HA manager, with a manager that takes the VMs' lock.
func TestTheHAManagerIsCalledWithoutTheLock(t *testing.T) {
	t.Parallel()

	b := newBench(t, open{})
	stuck := time.AfterFunc(5*time.Minute, func() { // much longer than the whole test
		panic("the HA manager was called by somebody who holds the lock of the VMs")
	})
	defer stuck.Stop()

	b.ask(t, http.MethodPost, "", url.Values{"vmid": {"101"}, "onboot": {"1"}, "scsi0": {"tank:8"}})
	b.ask(t, http.MethodPost, "/101/status/start", nil)
	b.ask(t, http.MethodGet, "/101/status/current", nil)
	b.vms.GuestPoweredOff(101)
	b.ask(t, http.MethodPost, "/101/status/start", nil)
	b.ask(t, http.MethodPost, "/101/status/shutdown", nil)
	b.ask(t, http.MethodPost, "/101/status/start", nil)
	b.ask(t, http.MethodPost, "/101/status/stop", nil)
	require.NoError(t, b.vms.StartGuests())

	for _, record := range b.env.Tasks.List().All() {
		require.NoError(t, b.env.Tasks.Await(t.Context(), record.UPID))
	}

	b.ask(t, http.MethodPost, "/101/status/stop", nil)
	b.ask(t, http.MethodDelete, "/101", url.Values{"purge": {"1"}})
	close(b.manager.calls)

	met := map[string]bool{}
	for call := range b.manager.calls {
		met[call] = true
	}

	require.Equal(t, map[string]bool{"Configured": true, "Managed": true, "Status": true, "Tend": true, "Forget": true}, met)
	require.False(t, b.vms.Exists(101))
}
