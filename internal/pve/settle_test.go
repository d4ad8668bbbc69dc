package pve_test

import (
	"context"
	"errors"
	"fmt"
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

// hanging returns a host on which a clone of the machine hangs.
func hanging(t *testing.T, changes ...func(*proxmox.Config)) (e *emulated, upid string) {
	t.Helper()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	require.NoError(t, faults.Set(fault.Fault{Name: "clone-hangs"}))
	e = newHost(t, func(c *proxmox.Config) {
		for _, change := range changes {
			change(c)
		}
		c.Faults = proxmox.NewFaultSet(pace.Pace{}, faults)
	})
	upid = e.begin(http.MethodPost, clonePath(), cloneParams)
	e.waitForLock()
	return e, upid
}

// TestACloneThatHangs checks that a clone that has written nothing for a while is reported with its name and its last line, and that nothing is left
// of it after the operator has stopped it.
func TestACloneThatHangs(t *testing.T) {
	t.Parallel()
	e, upid := hanging(t)
	host := pve.Strict(e.host(patience), 500*time.Millisecond)
	var reported []string
	host.Tell = func(text string) { reported = append(reported, text) }
	_, err := host.Settle(t.Context(), node, vmid)
	var hung *pve.HungError
	require.ErrorAs(t, err, &hung)
	require.Regexp(t, `^VM 102 on vmhost waits for the task `+upid+`, which has written nothing for \d+ s `+
		`\(last: "create full clone of drive scsi0 \(tank:base-9000-disk-0\)"\): see in Proxmox VE why it hangs, and stop it there or wait for it; then run up again$`, err.Error())
	require.Equal(t, []string{"VM 102 waits for the qmclone of " + hung.Since.Format(time.TimeOnly) + ", 30 min at most"}, reported)

	require.NoError(t, host.StopTask(t.Context(), hung.Task))
	machine, err := host.Settle(t.Context(), node, vmid)
	require.NoError(t, err)
	require.Nil(t, machine)
}

// TestAnothersCloneIsNotWaitedFor: a clone that has logged work on its disks has created its machine, which is not this one.
func TestAnothersCloneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	e, _ := hanging(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	machine, err := pve.Strict(e.host(patience), time.Hour).Settle(ctx, node, vmid+1)
	require.NoError(t, err, "it was waited for")
	require.Nil(t, machine)
}

// TestAwaitMade checks that a clone of a given machine is waited for, even if no state contains it, and no other clone.
func TestAwaitMade(t *testing.T) {
	t.Parallel()
	e, upid := hanging(t)
	host := pve.Strict(e.host(patience), 500*time.Millisecond)
	require.NoError(t, host.AwaitMade(t.Context(), []int{vmid + 1, templateID}))
	var hung *pve.HungError
	require.ErrorAs(t, host.AwaitMade(t.Context(), []int{templateID, vmid}), &hung)
	require.Equal(t, upid, hung.UPID)
	require.NoError(t, host.StopTask(t.Context(), hung.Task))
	require.NoError(t, host.AwaitMade(t.Context(), []int{templateID, vmid}))
}

// TestTasksOf: a clone is listed under its source, everything else under its machine; ended tasks are left out.
func TestTasksOf(t *testing.T) {
	t.Parallel()
	e, upid := hanging(t)
	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"300"}, "name": {"other"}})
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	for _, id := range []int{vmid, templateID} {
		tasks, err := reader.TasksOf(t.Context(), node, id)
		require.NoError(t, err)
		require.Len(t, tasks, 1)
		tasks[0].Since = time.Time{}
		require.Equal(t, pve.Task{
			UPID: upid, Node: node, Type: "qmclone", VMID: templateID,
			Log: []string{"create full clone of drive scsi0 (tank:base-9000-disk-0)"},
		}, tasks[0], fmt.Sprint(id))
	}
	_, err = reader.TasksOf(t.Context(), "elsewhere", vmid)
	require.Error(t, err)
	require.False(t, errors.Is(err, pve.ErrForbidden))
}
