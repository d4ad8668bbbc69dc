package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// onHosts returns a nodes.yaml with a control plane and a worker on given hosts.
func onHosts(controlPlane, worker string) string {
	return `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.20.11, host: ` + controlPlane + `}
  - {name: k3s-dev-worker-1, role: worker, vmid: 102, address: 192.168.20.21, host: ` + worker + `}
`
}

// shareTemplate makes the hosts share the template on vmhost.
func (r *rehearsal) shareTemplate() {
	r.t.Helper()
	r.edit("cluster.yaml", "isoStorage: local", "isoStorage: nas")
	r.edit("cluster.yaml", "diskStorage: tank", "diskStorage: ceph")
	r.edit("cluster.yaml", "template: {vmid: 9000}", "template: {vmid: 9000, shared: true}")
}

// TestE2EF19HostsShareATemplate brings nodes on two hosts up from one template, and moves one of them to the other host
// while it runs.
func TestE2EF19HostsShareATemplate(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-shared")
	r.shareTemplate()
	r.writeInventory("nodes.yaml", onHosts("vmhost", "vmhost2"))

	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, map[string][]string{"vmhost": {"k3s-dev-control-1", "talos-v1.12.4-base"}, "vmhost2": {"k3s-dev-worker-1"}}, r.placement())
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab", "--refresh")

	r.writeInventory("nodes.yaml", onHosts("vmhost", "vmhost"))
	r.movesAsItRuns("vmhost2", "vmhost")
	r.movedByHand("vmhost", "vmhost2")

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.placement())
}

// TestE2EF19KilledDuringACloneForAnotherHost: such a clone is on the template's host until it is done.
func TestE2EF19KilledDuringACloneForAnotherHost(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-shared-killed")
	r.shareTemplate()
	r.writeInventory("nodes.yaml", onHosts("vmhost2", "vmhost2"))

	r.killDuringClone("pulumi", "sh")
	r.killPlugins()
	r.cloneEnds()
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "ended half way: what was left of it is deleted, it never ran")
	require.Equal(t, map[string][]string{"vmhost": {"talos-v1.12.4-base"}, "vmhost2": {"k3s-dev-control-1", "k3s-dev-worker-1"}}, r.placement())
	require.Empty(t, r.pending())
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// TestE2EF23MachineMovesToAnotherHost changes the host of a worker whose storages are each host's own: Proxmox VE refuses that
// while an ISO is in the drive, so it is refused before anything is changed, and done when the drive is empty. If the worker is replaced
// later, the new machine is cloned from the template of its present host, and has its ISO.
func TestE2EF23MachineMovesToAnotherHost(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-move")
	r.edit("cluster.yaml", "template: {vmid: 9000}", "template: {vmid: 9000, perHost: {vmhost2: 9001}}")
	r.writeInventory("nodes.yaml", onHosts("vmhost", "vmhost2"))
	r.mustRun(0, "up", "--lab", "--yes")

	r.writeInventory("nodes.yaml", onHosts("vmhost", "vmhost"))
	seen := len(r.calls())
	output := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(t, output, "VM 102 (k3s-dev-worker-1) stands on vmhost2, not on vmhost, and cannot be moved: the ISO in its drive is on storage local, which is not shared")
	require.Contains(t, output, "qm set 102 --ide0 none,media=cdrom")
	require.Empty(t, writes(r.calls()[seen:]))

	r.ejectISO("vmhost2", 102)
	r.movesAsItRuns("vmhost2", "vmhost")
	require.NotContains(t, r.placement(), "vmhost2", "no node is left there that needs its template")

	require.Equal(t, "none,media=cdrom", r.drive("vmhost", 102))
	r.edit("nodes.yaml", "vmid: 102", "vmid: 112")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, r.drive("vmhost", 112), ":iso/talos-v1.12.4-")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab")

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.placement())
}

// movesAsItRuns runs up for a worker whose host was changed: it is migrated, and neither rebooted nor replaced.
func (r *rehearsal) movesAsItRuns(from, to string) {
	r.t.Helper()
	seen, began := len(r.calls()), time.Now()
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, output, "host "+from+" → "+to)
	touched := r.writesTo(102, seen)
	require.Len(r.t, touched, 2, "%v", touched)
	require.Contains(r.t, touched[0], "/nodes/"+from+"/qemu/102/migrate")
	require.Contains(r.t, touched[1], "/nodes/"+to+"/qemu/102/config")
	require.Empty(r.t, labstack.Outages(r.talosLog(began)), "it runs all the time")
	require.Contains(r.t, r.placement()[to], "k3s-dev-worker-1")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// movedByHand migrates the worker outside of em-infra: a run that refreshes moves it back, or, if the inventory names the new
// host, changes nothing.
func (r *rehearsal) movedByHand(from, to string) {
	r.t.Helper()
	r.migrate(102, from, to)
	r.mustRun(0, "up", "--lab", "--yes", "--refresh")
	require.Contains(r.t, r.placement()[from], "k3s-dev-worker-1")

	r.migrate(102, from, to)
	r.writeInventory("nodes.yaml", onHosts("vmhost", to))
	seen := len(r.calls())
	r.mustRun(0, "up", "--lab", "--yes", "--refresh")
	require.Empty(r.t, r.writesTo(102, seen))
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// migrate moves a running machine, as in the web interface.
func (r *rehearsal) migrate(vmid int, from, to string) {
	r.t.Helper()
	node, err := r.api().Node(r.t.Context(), from)
	require.NoError(r.t, err)
	machine, err := node.VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	task, err := machine.Migrate(r.t.Context(), &proxmox.VirtualMachineMigrateOptions{Target: to, Online: true})
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
}

// writesTo returns the calls that may have changed a machine, since so many calls were seen.
func (r *rehearsal) writesTo(vmid, seen int) []string {
	r.t.Helper()
	return slices.DeleteFunc(writes(r.calls()[seen:]), func(write string) bool {
		return !strings.Contains(write+"/", fmt.Sprintf("/qemu/%d/", vmid))
	})
}

// placement returns the machines by their hosts.
func (r *rehearsal) placement() map[string][]string {
	r.t.Helper()
	var machines []struct{ Name, Node string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/cluster/resources?type=vm", &machines))
	placed := map[string][]string{}
	for _, machine := range machines {
		placed[machine.Node] = append(placed[machine.Node], machine.Name)
	}
	for _, names := range placed {
		slices.Sort(names)
	}
	return placed
}

// ejectISO takes the ISO out of a machine's drive, as an operator does with qm set.
func (r *rehearsal) ejectISO(host string, vmid int) {
	r.t.Helper()
	node, err := r.api().Node(r.t.Context(), host)
	require.NoError(r.t, err)
	machine, err := node.VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	task, err := machine.Config(r.t.Context(), proxmox.VirtualMachineOption{Name: "ide0", Value: "none,media=cdrom"})
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
}

// drive returns what is in the CD drive of a machine.
func (r *rehearsal) drive(host string, vmid int) string {
	r.t.Helper()
	node, err := r.api().Node(r.t.Context(), host)
	require.NoError(r.t, err)
	machine, err := node.VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	return machine.VirtualMachineConfig.IDEs["ide0"]
}
