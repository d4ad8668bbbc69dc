package e2e_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EControlPlanesComeAndGo shrinks a cluster from three control planes to one, in a run that is killed and one that completes it; the first one
// of the inventory is among those that go. Then it exchanges the only one for another machine, grows to five, shrinks to three while a dead one is
// exchanged for another, and gives one another VMID. The data in etcd survive all of it.
func TestE2EControlPlanesComeAndGo(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, five)
	r.remember()
	workers := []string{"k3s-dev-worker-1", "k3s-dev-worker-2"}
	writeControlPlanes := func(items ...string) {
		r.writeInventory("nodes.yaml", "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"+strings.Join(items, "")+
			"  - {name: k3s-dev-worker-1, role: worker, vmid: 111, address: 192.168.20.21}\n"+
			"  - {name: k3s-dev-worker-2, role: worker, vmid: 112, address: 192.168.20.22}\n")
	}

	writeControlPlanes(controlPlane(2, 102))
	r.plainEngineRefusesToRemove()
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), "refused: say --allow-delete k3s-dev-control-1 --allow-delete k3s-dev-control-3 to go on")
	flags := []string{"up", "--lab", "--yes", "--allow-delete", "k3s-dev-control-1", "--allow-delete", "k3s-dev-control-3"}
	first := r.killsARemoval(flags)
	output := r.mustRun(0, flags...)
	for _, gone := range []string{"k3s-dev-control-1", "k3s-dev-control-3"} {
		if gone == first {
			continue // the killed run may have ended its removal
		}
		require.Contains(t, output, gone+" is drained")
		require.Contains(t, output, "the member of "+gone+" has left etcd")
		require.Contains(t, output, gone+" is no longer a Node of the cluster")
	}
	r.cameBack(append([]string{"k3s-dev-control-2"}, workers...))
	require.Len(t, r.hostFiles().VMs, 4, "three nodes and the template")

	writeControlPlanes(controlPlane(4, 104))
	began := time.Now()
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes", "--allow-delete", "k3s-dev-control-2"), "the member of k3s-dev-control-2 has left etcd")
	r.etcdWasSnapshotted(began, "v1.35.4", 3)
	r.cameBack(append([]string{"k3s-dev-control-4"}, workers...))

	writeControlPlanes(controlPlane(4, 104), controlPlane(5, 105), controlPlane(6, 106), controlPlane(7, 107), controlPlane(8, 108))
	r.mustRun(0, "up", "--lab", "--yes")
	r.cameBack(append([]string{"k3s-dev-control-4", "k3s-dev-control-5", "k3s-dev-control-6", "k3s-dev-control-7", "k3s-dev-control-8"}, workers...))

	r.power(false, 105)
	writeControlPlanes(controlPlane(4, 104), controlPlane(6, 106), controlPlane(9, 109))
	output = r.mustRun(0, "up", "--lab", "--yes",
		"--allow-delete", "k3s-dev-control-5", "--allow-delete", "k3s-dev-control-7", "--allow-delete", "k3s-dev-control-8")
	require.Contains(t, output, "warning: k3s-dev-control-5 is dead: its member is removed from etcd by another control plane")
	require.Contains(t, output, "the member of k3s-dev-control-5 was removed from etcd")
	r.cameBack(append([]string{"k3s-dev-control-4", "k3s-dev-control-6", "k3s-dev-control-9"}, workers...))

	began = time.Now()
	writeControlPlanes(controlPlane(4, 110), controlPlane(9, 109), controlPlane(6, 106))
	require.Regexp(t, "REPLACE +k3s-dev-control-4 +vmid 104 → 110", r.mustRun(3, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes", "--allow-replace", "k3s-dev-control-4")
	r.cameBack(append([]string{"k3s-dev-control-4", "k3s-dev-control-6", "k3s-dev-control-9"}, workers...))
	require.Empty(t, labstack.Outages(slices.DeleteFunc(r.talosLog(began), func(line labstack.NodeLine) bool { return line.VMID == 104 || line.VMID == 110 })), "the others stay")
}

// TestE2EControlPlanesAreExchanged exchanges two of three control planes in one run: one has another VMID under its name, the other one
// another name in its place. They go one after the other, also when the run is killed between them and when the first new machine does
// not start at first, and the third one stays.
func TestE2EControlPlanesAreExchanged(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, three)
	r.remember()
	r.writeInventory("nodes.yaml", "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"+controlPlane(1, 131)+
		"  - {name: k3s-dev-control-9, role: control-plane, vmid: 102, address: 192.168.20.12}\n"+controlPlane(3, 103))
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), "refused: say --allow-replace k3s-dev-control-1 --allow-replace k3s-dev-control-9 to go on")

	flags := []string{"up", "--lab", "--yes", "--allow-replace", "k3s-dev-control-1", "--allow-replace", "k3s-dev-control-9"}
	began := time.Now()
	require.Equal(t, "k3s-dev-control-1", r.killsARemoval(flags))
	r.newMachineDoesNotCome(131, flags)
	output := r.mustRun(0, flags...)
	require.Contains(t, output, "the member of k3s-dev-control-2 has left etcd")
	require.Contains(t, output, "k3s-dev-control-2 is no longer a Node of the cluster")
	r.cameBack([]string{"k3s-dev-control-1", "k3s-dev-control-3", "k3s-dev-control-9"})
	require.Empty(t, labstack.Outages(slices.DeleteFunc(r.talosLog(began), func(line labstack.NodeLine) bool { return line.VMID != 103 })), "the third one stays")
}

// controlPlane returns the item of a control plane in nodes.yaml.
func controlPlane(number, vmid int) string {
	return fmt.Sprintf("  - {name: k3s-dev-control-%d, role: control-plane, vmid: %d, address: 192.168.20.%d}\n", number, vmid, 10+number)
}

// killsARemoval ends a run while the first control plane is reset, and returns its name.
func (r *rehearsal) killsARemoval(flags []string) string {
	r.t.Helper()
	began := time.Now()
	kill := r.startToKill(flags...)
	stops := func(line labstack.NodeLine) bool { return line.Step == "stop" }
	r.eventually("a control plane is reset", func() bool { return slices.ContainsFunc(r.talosLog(began), stops) })
	kill()
	lines := r.talosLog(began)
	return fmt.Sprintf("k3s-dev-control-%d", lines[slices.IndexFunc(lines, stops)].VMID-100)
}

// newMachineDoesNotCome ends the removal of a control plane, and QEMU does not start the machine in its place: the run reports how to go on, and no
// other control plane is touched.
func (r *rehearsal) newMachineDoesNotCome(vmid int, flags []string) {
	r.t.Helper()
	r.mustRun(0, "lab", "fault", "set", "start-fails", "--vm", fmt.Sprint(vmid))
	began := time.Now()
	output := r.mustRun(1, flags...)
	require.Contains(r.t, output, "makes the machine of k3s-dev-control-1, alone; control planes that follow: 1")
	require.Contains(r.t, output, "start failed: QEMU exited with code 1")
	require.Regexp(r.t, "safe to run again: em-infra up .* --allow-replace k3s-dev-control-9\n", output)
	down := slices.DeleteFunc(vmids(labstack.Outages(r.talosLog(began))), func(down int) bool { return down == 101 || down == vmid })
	require.Empty(r.t, down, "two of three stay")
	r.mustRun(0, "lab", "fault", "clear")
}

// plainEngineRefusesToRemove runs a plain Pulumi, which does not know which control planes stay: no machine is touched.
func (r *rehearsal) plainEngineRefusesToRemove() {
	r.t.Helper()
	before := r.hostFiles().VMs
	stack := r.plainEngine()
	var output bytes.Buffer
	_, err := stack.Up(r.t.Context(), optup.ProgressStreams(&output), optup.ErrorProgressStreams(&output))
	require.Error(r.t, err)
	require.Contains(r.t, output.String(), " is a control plane, and pulumi alone does not know which control planes stay: run `")
	require.Contains(r.t, output.String(), "em-infra up`, which asks for your consent and has its member leave etcd first, or put it back into nodes.yaml as it was")
	require.Equal(r.t, before, r.hostFiles().VMs)
}
