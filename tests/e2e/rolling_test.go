package e2e_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/stacks"
)

// highlyAvailable is nodes.yaml with three control planes, VM 101 to 103, with further keys, and two workers.
func highlyAvailable(keys string) string {
	text := "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"
	for i := range 3 {
		text += fmt.Sprintf("  - {name: k3s-dev-control-%d, role: control-plane, vmid: %d, address: 192.168.20.%d%s}\n", i+1, 101+i, 11+i, keys)
	}
	for i := range 2 {
		text += fmt.Sprintf("  - {name: k3s-dev-worker-%d, role: worker, vmid: %d, address: 192.168.20.%d}\n", i+1, 111+i, 21+i)
	}
	return text
}

// rebootingPatch changes a rule of udev, for which Talos reboots, and a sysctl, for which it does not.
const rebootingPatch = `, patches: [{machine: {udev: {rules: ['SUBSYSTEM=="drm", MODE="0660"']}, sysctls: {vm.max_map_count: "262144"}}}]`

// TestE2EF4F5ControlPlanesAreChangedOneAtATime brings up three control planes and two workers, changes one worker and all
// control planes, and then has one control plane not come back.
func TestE2EF4F5ControlPlanesAreChangedOneAtATime(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-rolling")
	all := []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-worker-1", "k3s-dev-worker-2"}

	r.writeInventory("nodes.yaml", highlyAvailable(""))
	r.mustRun(0, "up", "--lab", "--yes")
	r.nodesAreReady(all...)
	r.mustRun(0, "preview", "--lab")

	r.edit("nodes.yaml", "vmid: 111", "vmid: 111, memoryMiB: 6144")
	began := time.Now()
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, []int{111}, vmids(outages(r.talosLog(began))), "only the worker that changed")

	r.writeInventory("nodes.yaml", strings.Replace(highlyAvailable(", memoryMiB: 6144"+rebootingPatch), "vmid: 111", "vmid: 111, memoryMiB: 6144", 1))
	began = time.Now()
	r.mustRun(0, "up", "--lab", "--yes")
	r.oneAfterTheOther(r.talosLog(began))
	r.nodesAreReady(all...)
	r.mustRun(0, "preview", "--lab")

	r.stopsWhereANodeIsLost()
	r.nodesAreReady(all...)
	r.mustRun(0, "preview", "--lab")
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// oneAfterTheOther: each control plane was down twice, for its memory and for its configuration, no two of them at a time,
// and each was asked for its vote in etcd before the next one went down, so that the quorum was never lost.
func (r *rehearsal) oneAfterTheOther(lines []talosLine) {
	r.t.Helper()
	found := outages(lines)
	require.Len(r.t, found, 6)
	require.Equal(r.t, []int{101, 102, 103}, vmids(found))
	for i, o := range found[:len(found)-1] {
		next := found[i+1]
		require.False(r.t, o.to.IsZero(), "VM %d came back", o.vmid)
		require.True(r.t, o.to.Before(next.from), "VM %d went down before VM %d was back", next.vmid, o.vmid)
		require.True(r.t, slices.ContainsFunc(lines, func(l talosLine) bool {
			return l.VMID == o.vmid && l.Method == "/machine.MachineService/EtcdStatus" && l.Code == "OK" && l.Time.After(o.to) && l.Time.Before(next.from)
		}), "VM %d voted before VM %d went down", o.vmid, next.vmid)
	}
}

// stopsWhereANodeIsLost gives all control planes other memory and has one of them not boot: what comes after it stays
// untouched, until it is switched on again and the next run finishes the work.
func (r *rehearsal) stopsWhereANodeIsLost() {
	r.t.Helper()
	const lost = 102
	r.writeInventory("nodes.yaml", strings.ReplaceAll(r.inventoryText("nodes.yaml"), "memoryMiB: 6144, patches", "memoryMiB: 4096, patches"))
	r.mustRun(0, "lab", "fault", "set", "node-does-not-boot", "--vm", fmt.Sprint(lost))
	began, seen := time.Now(), len(r.calls())
	stack := r.plainEngineWith(stacks.Options{RecoveryTimeout: 2 * time.Minute})
	_, err := stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard))
	require.ErrorContains(r.t, err, "k3s-dev-control-2 does not work 2m0s after its change")

	down := outages(r.talosLog(began))
	require.Equal(r.t, lost, down[len(down)-1].vmid, "nobody went down after it")
	for _, vmid := range []int{101, 103} {
		wasDown := slices.Contains(vmids(down), vmid)
		require.Equal(r.t, wasDown, r.changed(vmid, seen), "VM %d was changed only if its turn was before", vmid)
		if !wasDown {
			require.ErrorContains(r.t, err, fmt.Sprintf("k3s-dev-control-%d is untouched, because k3s-dev-control-2 did not come back from its change: mend that node, then run up again", vmid-100))
		}
	}

	r.mustRun(0, "lab", "fault", "clear")
	r.power(true, lost)
	r.mustRun(0, "up", "--lab", "--yes")
}

// changed says whether a machine's configuration was written since.
func (r *rehearsal) changed(vmid, seen int) bool {
	r.t.Helper()
	return slices.ContainsFunc(writes(r.calls()[seen:]), func(write string) bool {
		return strings.HasSuffix(write, fmt.Sprintf("/qemu/%d/config", vmid))
	})
}
