package proxmox_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// TestServicesDoNotBlockEachOther runs all services at the same time: VMs that the HA manager starts and stops while they are
// destroyed, disks, pools, mappings, bridges, lists, and saves of the state. If services took their locks in different
// orders, this would deadlock.
func TestServicesDoNotBlockEachOther(t *testing.T) {
	t.Parallel()

	const machines, rounds = 4, 3

	file := stateFile(t)
	l := newLab(t, func(c *proxmox.Config) { c.StateFile = file })
	l.template()

	var running sync.WaitGroup

	try := func(verb, path string, params url.Values) {
		r, err := l.try(context.Background(), l.token, verb, path, params)
		if err != nil || strings.HasPrefix(r.Status, "401") || strings.HasPrefix(r.Status, "501") {
			t.Errorf("%s %s: %s %v", verb, path, r.Status, err)
		}
	}

	for i := range machines {
		running.Go(func() {
			vmid := 201 + i
			one := fmt.Sprintf("/nodes/vmhost/qemu/%d", vmid)

			for range rounds {
				l.taskOf(t, http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values(fmt.Sprintf("newid=%d full=1 name=m%d", vmid, vmid)))
				try(http.MethodPost, "/cluster/ha/resources", values(fmt.Sprintf("sid=vm:%d state=started", vmid)))
				try(http.MethodGet, one+"/status/current", nil)
				try(http.MethodPut, one+"/config", values("memory=512 tags=a"))
				try(http.MethodPut, fmt.Sprintf("/cluster/ha/resources/vm:%d", vmid), values("state=stopped"))
				l.taskOf(t, http.MethodPost, one+"/status/stop", nil)
				try(http.MethodDelete, fmt.Sprintf("/cluster/ha/resources/vm:%d", vmid), nil)
				l.taskOf(t, http.MethodPost, one+"/status/stop", nil)
				l.taskOf(t, http.MethodDelete, one, values("purge=1 destroy-unreferenced-disks=1"))
			}
		})
	}

	for _, path := range []string{
		"/cluster/resources", "/cluster/ha/resources", "/nodes", "/nodes/vmhost/qemu", "/nodes/vmhost/storage/tank/content",
		"/nodes/vmhost/network", "/cluster/mapping/pci?check-node=vmhost", "/cluster/tasks", "/access/permissions",
	} {
		running.Go(func() {
			for range machines * rounds {
				try(http.MethodGet, path, nil)
			}
		})
	}

	running.Go(func() {
		for i := range rounds {
			if err := l.server.Grow([]proxmox.Host{{Name: "vmhost", Cores: 17 + i, MemoryMiB: 64 << 10}}); err != nil {
				t.Error(err)
			}
		}
	})

	running.Wait()
	require.NoError(t, l.server.Close())
	require.FileExists(t, file)
}

// taskOf sends a request that may start a worker, and waits for its end. Any result is accepted.
func (l *lab) taskOf(t *testing.T, verb, path string, params url.Values) {
	r, err := l.try(context.Background(), l.token, verb, path, params)
	if err != nil {
		t.Errorf("%s %s: %v", verb, path, err)
		return
	}

	if upid := strings.Trim(string(r.Data), `"`); strings.HasPrefix(upid, "UPID:") {
		for {
			state, err := l.try(context.Background(), l.token, http.MethodGet, "/nodes/vmhost/tasks/"+url.PathEscape(upid)+"/status", nil)
			if err != nil || !strings.Contains(string(state.Data), `"running"`) {
				return
			}
		}
	}
}
