package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"
)

// aMoveThatFails moves the worker's machine to another storage, and the move fails. Other guests then fill the host's lists of
// tasks, so that no evidence is left that the machine ever ran. The next up starts and moves the same machine.
func (r *rehearsal) aMoveThatFails(name string, vmid int) {
	r.t.Helper()
	birth, seen := r.machine(vmid).VirtualMachineConfig.SMBios1, len(r.calls())
	require.NotEmpty(r.t, birth)

	r.edit("nodes.yaml", fmt.Sprintf("vmid: %d", vmid), fmt.Sprintf("vmid: %d\n    diskStorage: other", vmid))
	r.mustRun(0, "lab", "fault", "set", "move-disk-fails", "--vm", fmt.Sprint(vmid), "--times", "1")
	r.mustRun(1, "up", "--lab", "--yes")
	require.Equal(r.t, map[string]int{"move-disk-fails": 1}, r.occurred())
	r.mustRun(0, "lab", "fault", "clear")
	require.Equal(r.t, proxmox.StatusVirtualMachineStopped, r.machine(vmid).Status)
	r.fillTheTaskLists(999)
	require.Empty(r.t, r.tasks(vmid), "nothing says that it ran")

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, output, fmt.Sprintf("VM %d (%s) is off since a change of it failed: it is started", vmid, name))
	moved := r.machine(vmid)
	require.Equal(r.t, proxmox.StatusVirtualMachineRunning, moved.Status)
	require.Contains(r.t, moved.VirtualMachineConfig.SCSIs["scsi0"], "other:")
	require.Equal(r.t, birth, moved.VirtualMachineConfig.SMBios1, "it is the machine that it was")
	for _, call := range r.calls()[seen:] {
		require.False(r.t, call.Verb == http.MethodDelete && strings.HasSuffix(call.Path, fmt.Sprintf("/qemu/%d", vmid)), "it was deleted")
		require.False(r.t, strings.HasSuffix(call.Path, "/clone"), "it was cloned")
	}
	r.nodesAreReady("k3s-dev-control-1", name)
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// machine returns a machine as the host shows it.
func (r *rehearsal) machine(vmid int) *proxmox.VirtualMachine {
	r.t.Helper()
	machine, err := r.host().VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	return machine
}

// tasks are those of a machine that the host still lists.
func (r *rehearsal) tasks(vmid int) []*proxmox.Task {
	r.t.Helper()
	tasks, err := r.host().Tasks(r.t.Context(), &proxmox.NodeTasksOptions{VMID: vmid, Source: "all"})
	require.NoError(r.t, err)
	return tasks
}

// fillTheTaskLists fills both of the host's lists of tasks with tasks of a foreign guest.
func (r *rehearsal) fillTheTaskLists(vmid int) {
	r.t.Helper()
	host := r.host()
	task, err := host.NewVirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 10*time.Millisecond, time.Minute))
	var guest proxmox.VirtualMachine
	guest.New(r.api(), host.Name, vmid)
	const tasks, bytes = 2 * 50_000, 70 // of a line, at least
	for range tasks/bytes + 2 {
		task, err := guest.Stop(r.t.Context())
		require.NoError(r.t, err)
		require.NoError(r.t, task.Wait(r.t.Context(), time.Millisecond, time.Minute))
	}
	task, err = guest.Delete(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 10*time.Millisecond, time.Minute))
}
