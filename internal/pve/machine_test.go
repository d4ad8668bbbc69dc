package pve_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
)

const patience = 5 * time.Second

func TestSettleKnowsWhatBecameOfAMachine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(*emulated)
		want    *pve.Machine
	}{
		{"free VMID", func(*emulated) {}, nil},
		{"stopped, never started", func(e *emulated) { e.clone() }, &pve.Machine{Node: node, Name: name}},
		{"running", func(e *emulated) { e.clone(); e.start() }, &pve.Machine{Node: node, Name: name, Running: true, Ran: "it runs"}},
		{"stopped, started once", func(e *emulated) { e.clone(); e.start(); e.stop() }, &pve.Machine{Node: node, Name: name, Ran: "it was started"}},
		{"removed", func(e *emulated) { e.clone(); e.start(); e.stop(); e.destroy() }, nil},
		{
			"made again after one that ran was removed",
			func(e *emulated) { e.clone(); e.start(); e.stop(); e.destroy(); e.clone() },
			&pve.Machine{Node: node, Name: name},
		},
		{
			"the same within one second, in doubt for the machine",
			func(e *emulated) {
				e.mustNow(http.MethodPost, clonePath(), cloneParams)
				e.mustNow(http.MethodPost, vmPath("/status/start"), nil)
				e.mustNow(http.MethodPost, vmPath("/status/stop"), nil)
				e.mustNow(http.MethodDelete, vmPath(""), nil)
				e.mustNow(http.MethodPost, clonePath(), cloneParams)
			},
			&pve.Machine{Node: node, Name: name, Ran: "it was started"},
		},
		{
			"another machine's start is not ours",
			func(e *emulated) {
				e.clone()
				e.must(http.MethodPost, clonePath(), url.Values{"newid": {"103"}, "name": {"other"}, "full": {"1"}})
				e.must(http.MethodPost, "/qemu/103/status/start", nil)
			},
			&pve.Machine{Node: node, Name: name},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, nil)
			test.prepare(e)
			machine, err := e.host(patience).Settle(t.Context(), node, vmid)
			require.NoError(t, err)
			require.Equal(t, test.want, unborn(machine))
		})
	}
}

// TestAMachineWhoseStartFailedNeverRan: QEMU did not come up, so nothing is in the machine.
func TestAMachineWhoseStartFailedNeverRan(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(pace.Pace{}, faults) })
	e.clone()
	host := e.host(patience)
	require.NoError(t, faults.Set(fault.Fault{Name: "start-fails", Times: 1}))
	require.ErrorContains(t, host.Start(t.Context(), node, vmid), "start failed: QEMU exited with code 1")
	machine, err := host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: name}, unborn(machine))

	require.NoError(t, host.Start(t.Context(), node, vmid))
	e.stop()
	machine, err = host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: name, Ran: "it was started"}, unborn(machine))
}

// TestAMachineWhoseStartIsForgotten: the task lists of the node have rotated, so only its measurements show whether the machine ran.
func TestAMachineWhoseStartIsForgotten(t *testing.T) {
	t.Parallel()
	const measured = "its processor was measured while it ran"
	for _, test := range []struct {
		name string
		live func(*emulated)
		ran  string
	}{
		{"it never ran", func(e *emulated) { e.clock.advance(30 * 24 * time.Hour) }, ""},
		{"it ran for an hour, yesterday", func(e *emulated) { e.runFor(time.Hour); e.clock.advance(20 * time.Hour) }, measured},
		{"it ran for weeks, half a year ago", func(e *emulated) { e.runFor(30 * 24 * time.Hour); e.clock.advance(180 * 24 * time.Hour) }, measured},
		{"it ran for a minute, a month ago", func(e *emulated) { e.runFor(time.Minute); e.clock.advance(30 * 24 * time.Hour) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, nil)
			e.clone()
			test.live(e)
			e.fillTheTaskLists()
			machine, err := e.host(patience).Look(t.Context(), vmid)
			require.NoError(t, err)
			require.Equal(t, &pve.Machine{Node: node, Name: name, Ran: test.ran}, unborn(machine))
		})
	}
}

// TestAMachineThatWasStartedOnAnotherNode covers a machine that a user moved while it was off: its start is in the task list of its former node.
func TestAMachineThatWasStartedOnAnotherNode(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		second := c.Hosts[0]
		second.Name = "vmhost2"
		c.Hosts = append(c.Hosts, second)
	})
	e.clone()
	e.start()
	e.stop()
	e.must(http.MethodPost, vmPath("/migrate"), url.Values{"target": {"vmhost2"}})
	machine, err := e.host(patience).Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: "vmhost2", Name: name, Ran: "it was started"}, unborn(machine))
}

// A machine that was measured and removed is not the one that has its VMID now.
func TestMeasurementsOfAFormerMachine(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	e.clone()
	e.runFor(30 * time.Hour)
	e.destroy()
	e.clock.advance(time.Minute)
	e.clone()
	e.clock.advance(time.Hour)
	machine, err := e.host(patience).Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: name}, unborn(machine))

	e.fillTheTaskLists() // no list contains the removal any more
	machine, err = e.host(patience).Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, "its processor was measured while it ran", machine.Ran, "in doubt for the machine")
}

func TestMeasurementsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(pace.Pace{}, faults) })
	e.clone()
	require.NoError(t, faults.Set(fault.Fault{Name: "unreachable", Endpoint: "/nodes/{node}/qemu/{vmid}/rrddata"}))
	machine, err := e.host(patience).Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, "the measurements of VM 102 on vmhost cannot be read: 596 Connection timed out", machine.Ran, "in doubt for the machine")
}

func TestStart(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(pace.Pace{}, faults) })
	host := e.host(patience)
	require.EqualError(t, host.Start(t.Context(), node, vmid), "VM 102 is not on vmhost any more: run up again")
	e.clone()
	require.NoError(t, faults.Set(fault.Fault{Name: "start-fails", Times: 1}))
	require.EqualError(t, host.Start(t.Context(), node, vmid),
		`start VM 102 on vmhost: Proxmox VE says "start failed: QEMU exited with code 1": look at its start in the tasks of Proxmox VE`)
	require.NoError(t, host.Start(t.Context(), node, vmid))
	machine, err := host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.True(t, machine.Running)
	require.NoError(t, host.Start(t.Context(), node, vmid), "one that runs already is no error")
}

// TestPending checks that a change of a running machine waits for a cold start, although the configuration already shows it.
func TestPending(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	host := e.host(patience)
	e.clone()
	e.start()
	pending, err := host.Pending(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Empty(t, pending)

	e.must(http.MethodPost, vmPath("/config"), url.Values{"sockets": {"2"}, "memory": {"2048"}})
	pending, err = host.Pending(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Equal(t, []string{"memory", "sockets"}, pending)
	e.stop()
	e.start()
	pending, err = host.Pending(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Empty(t, pending)
}

// slowClones returns a pace at which a clone takes about a second.
func slowClones(t *testing.T) func(*proxmox.Config) {
	t.Helper()
	slow, err := pace.New(float64(time.Second) / float64(pace.VMClone))
	require.NoError(t, err)
	return func(c *proxmox.Config) { c.Pace = slow }
}

func TestSettleWaitsForTheTask(t *testing.T) {
	t.Parallel()
	e := newHost(t, slowClones(t))
	e.begin(http.MethodPost, clonePath(), cloneParams)
	// Less than the clone takes: a task that works is given all the time that it needs.
	machine, err := e.host(200*time.Millisecond).Settle(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: name}, unborn(machine))
}

func TestSettleIsInterrupted(t *testing.T) {
	t.Parallel()
	e, _ := hanging(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	host := e.host(patience)
	host.Tell = func(string) { cancel(errors.New("interrupt signal received")) } // it waits
	_, err := host.Settle(ctx, node, vmid)
	require.EqualError(t, err, "wait for VM 102 on vmhost: interrupt signal received")
}

func TestSettleNamesALockThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	hostClock := newClock()
	config := hostConfig(t, hostClock)
	e, _ := hanging(t, func(c *proxmox.Config) { *c = config })
	require.NoError(t, e.server.Close()) // the power goes out in the middle of the clone

	again := serve(t, config, hostClock)
	host := again.host(100 * time.Millisecond)
	found, err := host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Empty: true, Lock: "clone"}, unborn(found))
	_, err = host.Settle(t.Context(), node, vmid)
	require.EqualError(t, err, "VM 102 on vmhost is locked (clone) and no task works on it: run `qm unlock 102` on vmhost, then run up again")
	deleted := host.Delete(t.Context(), node, vmid)
	require.ErrorContains(t, deleted, "VM is locked (clone)", "a token cannot delete it")
	require.True(t, pve.IsLocked(deleted))
	require.False(t, pve.IsLocked(errors.New("VM is not running")))

	require.NoError(t, again.server.Unlock(t.Context(), vmid))
	found, err = host.Settle(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Empty: true}, unborn(found))
	require.NoError(t, host.Delete(t.Context(), node, vmid))
	found, err = host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Nil(t, found)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	host := e.host(patience)
	require.NoError(t, host.Delete(t.Context(), node, vmid), "a machine that is gone is deleted")
	e.clone()
	require.NoError(t, host.Delete(t.Context(), node, vmid))
	machine, err := host.Settle(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Nil(t, machine)
}

func TestDeleteLeavesARunningMachineAlone(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	e.clone()
	e.start()
	host := e.host(patience)
	require.EqualError(t, host.Delete(t.Context(), node, vmid),
		"delete VM 102 on vmhost: 500 VM 102 is running - destroy failed: delete it there, then run up again")
	machine, err := host.Settle(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: name, Running: true, Ran: "it runs"}, unborn(machine))
}

func TestMachinesThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	hostClock := newClock()
	config := hostConfig(t, hostClock)
	config.Tokens[0].Role, config.Tokens[0].Privileges = "NoAudit", []string{"Sys.Audit"}
	e := serve(t, config, hostClock)
	_, err := e.host(patience).Settle(t.Context(), node, vmid)
	require.EqualError(t, err, "the token may not look at VM 102 on vmhost: give it the privilege VM.Audit, then run up again")
	require.EqualError(t, e.host(patience).Delete(t.Context(), node, vmid), err.Error())
}

func TestSettleOnAHostThatFails(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(pace.Pace{}, faults) })
	e.clone()
	require.NoError(t, faults.Set(fault.Fault{Name: "unreachable", Endpoint: "/nodes/{node}/tasks"}))
	machine, err := e.host(patience).Settle(t.Context(), node, vmid)
	require.Nil(t, machine, "nothing is concluded from a list that was not had")
	require.EqualError(t, err, "the tasks of vmhost cannot be read (596 Connection timed out): see that the host answers, then run up again")
}

func TestRestart(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	host := e.host(patience)
	_, on, err := host.UpFor(t.Context(), vmid)
	require.NoError(t, err)
	require.Zero(t, on, "it is not there")
	require.EqualError(t, host.Restart(t.Context(), node, vmid), "VM 102 is not on vmhost any more: run up again")

	e.clone()
	_, on, err = host.UpFor(t.Context(), vmid)
	require.NoError(t, err)
	require.Zero(t, on, "it is off")
	e.start()
	e.clock.advance(time.Hour)
	where, on, err := host.UpFor(t.Context(), vmid)
	require.NoError(t, err)
	require.Equal(t, node, where)
	require.GreaterOrEqual(t, on, time.Hour)

	require.NoError(t, host.Restart(t.Context(), node, vmid))
	_, on, err = host.UpFor(t.Context(), vmid)
	require.NoError(t, err)
	require.Less(t, on, time.Minute)
	machine, err := host.Look(t.Context(), vmid)
	require.NoError(t, err)
	require.True(t, machine.Running)
}
