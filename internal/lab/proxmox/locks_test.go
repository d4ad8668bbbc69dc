package proxmox_test

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// withFaults sets faults of a lab and returns them.
func withFaults(t testing.TB, c *proxmox.Config, asked ...fault.Fault) *fault.Set {
	t.Helper()

	set := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	for _, f := range asked {
		require.NoError(t, set.Set(f))
	}

	c.Faults = proxmox.NewFaultSet(c.Pace, set)

	return set
}

// slowSteps blocks every worker at a step until it is released.
type slowSteps struct {
	step    proxmox.Step
	reached chan string
	proceed chan struct{}
}

func (s *slowSteps) Call(context.Context, proxmox.Call) error { return nil }

func (s *slowSteps) Lost(proxmox.Call) bool { return false }

func (s *slowSteps) Step(ctx context.Context, t proxmox.TaskInfo, step proxmox.Step) error {
	if step != s.step {
		return nil
	}

	s.reached <- t.UPID

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.proceed:
		return nil
	}
}

func (s *slowSteps) Lag(proxmox.TaskInfo, proxmox.Effect) time.Duration { return 0 }

func newSlowSteps(step proxmox.Step) *slowSteps {
	return &slowSteps{step: step, reached: make(chan string, 16), proceed: make(chan struct{})}
}

// TestVMOnItsWay checks the state of a VM during its clone, and what it refuses.
func TestVMOnItsWay(t *testing.T) {
	t.Parallel()

	slow := newSlowSteps(proxmox.StepCopy)
	l := newLab(t, func(c *proxmox.Config) { c.Faults = slow })
	l.template()

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 name=a"), &upid)
	<-slow.reached

	c := l.config("101")
	require.Equal(t, "clone", c["lock"])
	require.NotContains(t, c, "name")

	var listed []struct {
		VMID int
		Lock string
	}

	l.ok(http.MethodGet, "/cluster/resources", values("type=vm"), &listed)
	require.Equal(t, "clone", listed[0].Lock)

	require.Equal(t, "500 can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout",
		l.do(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("cores=2")).Status)
	require.Equal(t, "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
	require.Equal(t, "500 unable to create VM 101: config file already exists",
		l.do(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101")).Status)

	close(slow.proceed)
	require.Equal(t, "OK", l.wait(upid).ExitStatus)
	require.Equal(t, "a", l.config("101")["name"])
	require.NotContains(t, l.config("101"), "lock")
}

// TestStoppedClone checks that a stopped clone leaves nothing.
func TestStoppedClone(t *testing.T) {
	t.Parallel()

	slow := newSlowSteps(proxmox.StepCopy)
	l := newLab(t, func(c *proxmox.Config) { c.Faults = slow })
	l.template()

	before := l.server.Volumes()

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"), &upid)
	<-slow.reached
	l.ok(http.MethodDelete, "/nodes/vmhost/tasks/"+url.PathEscape(upid), nil, nil)

	require.Equal(t, "received interrupt", l.wait(upid).ExitStatus)
	require.Equal(t, []int{9000}, l.vmids())
	require.Equal(t, before, l.server.Volumes())
}

// TestClonesRunBesideEachOther checks that a template can be cloned several times at once.
func TestClonesRunBesideEachOther(t *testing.T) {
	t.Parallel()

	slow := newSlowSteps(proxmox.StepCopy)
	l := newLab(t, func(c *proxmox.Config) { c.Faults = slow })
	l.template()

	upids := make([]string, 3)
	for i, newid := range []string{"101", "102", "103"} {
		l.ok(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("full=1 newid="+newid), &upids[i])
	}

	for range upids {
		<-slow.reached
	}

	close(slow.proceed)

	for _, upid := range upids {
		require.Equal(t, "OK", l.wait(upid).ExitStatus)
	}
}

// TestSameVMIDTwice checks that exactly one of two requests for a VMID succeeds.
func TestSameVMIDTwice(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	var (
		group    sync.WaitGroup
		statuses = make([]string, 8)
	)

	for i := range statuses {
		group.Go(func() {
			r, err := l.try(context.Background(), l.token, http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))
			if err == nil {
				statuses[i] = r.Status
			}
		})
	}

	group.Wait()

	won := 0

	for _, status := range statuses {
		if status == "200 OK" {
			won++
			continue
		}

		require.Equal(t, "500 unable to create VM 101 - VM 101 already exists on node 'vmhost'", status)
	}

	require.Equal(t, 1, won)
}

// TestStorageOnItsWay checks the error of an allocation that waits too long for another one, on a local and on a shared
// storage, and that it leaves nothing.
func TestStorageOnItsWay(t *testing.T) {
	t.Parallel()

	for name, expected := range map[string]string{
		"tank": "unable to create VM 102 - can't lock file '/var/lock/pve-manager/pve-storage-tank' - got timeout",
		"nas":  "unable to create VM 102 - cfs-lock 'storage-nas' error: got lock request timeout",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			slow := newSlowSteps(proxmox.StepAllocate)
			l := newLab(t, func(c *proxmox.Config) { c.Faults = slow })

			var upid string

			l.ok(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0="+name+":1"), &upid)
			<-slow.reached
			require.Equal(t, expected, l.task(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 scsi0="+name+":1")))

			close(slow.proceed)
			require.Equal(t, "OK", l.wait(upid).ExitStatus)
			require.Equal(t, []int{101}, l.vmids())
			require.Len(t, l.server.Volumes(), 1)
		})
	}
}

func TestOperationsTakeTheirTime(t *testing.T) {
	t.Parallel()

	slow := newSlowSteps(proxmox.StepStart)
	l := newLab(t, func(c *proxmox.Config) { c.Pace, c.Faults = scaled(t, 0.02), slow })
	l.template()

	started := time.Now()

	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"))
	require.GreaterOrEqual(t, time.Since(started), 80*time.Millisecond, "a clone takes 4 s at scale 1")

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil, &upid)
	<-slow.reached

	var running taskState

	l.ok(http.MethodGet, "/nodes/vmhost/tasks/"+url.PathEscape(upid)+"/status", nil, &running)
	require.Equal(t, taskState{Status: "running", Type: "qmstart", ID: "101", User: "terraform@pve", TokenID: "em-infra"}, running)
	close(slow.proceed)
	require.Equal(t, "OK", l.wait(upid).ExitStatus)
}
