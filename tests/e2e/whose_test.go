package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
)

// TestE2EWhoseMachinesAre: the description of a machine names its owner. A stack with an empty state owns none of them. A stack whose state lacks a
// machine, because a run did not learn of it, takes the machine back as it runs. And destroy names what stays.
func TestE2EWhoseMachinesAre(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-whose")
	r.mustRun(0, "up", "--lab", "--yes", "--time-scale", "0")

	r.isMarkedAsItRuns(102)
	r.anEmptyStateOwnsNothing()
	r.wasNotToldOf(102, true)
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir(), "backups")))
	r.wasNotToldOf(102, false)
	r.destroyNamesWhatStays(150)
}

// isMarkedAsItRuns gives a machine the description that an earlier release gave it.
func (r *rehearsal) isMarkedAsItRuns(vmid int) {
	r.t.Helper()
	machine := r.machine(vmid)
	marked := machine.VirtualMachineConfig.Description
	task, err := machine.Config(r.t.Context(), proxmox.VirtualMachineOption{Name: "description", Value: "Talos worker, made by em-infra."})
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 10*time.Millisecond, time.Minute))

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.NotContains(r.t, output, "is drained")
	require.Equal(r.t, marked, r.machine(vmid).VirtualMachineConfig.Description)
}

// anEmptyStateOwnsNothing moves the state away for a while, as in a copy of the project.
func (r *rehearsal) anEmptyStateOwnsNothing() {
	r.t.Helper()
	away := filepath.Join(r.t.TempDir(), "state")
	state, backups := filepath.Join(r.dir(), "state"), filepath.Join(r.dir(), "backups")
	require.NoError(r.t, os.Rename(state, away))
	require.NoError(r.t, os.Mkdir(state, 0o700))
	require.NoError(r.t, os.Rename(backups, away+"-backups"))

	output := r.mustRun(3, "preflight", "--lab")
	require.Contains(r.t, output, "VMID 102 of k3s-dev-worker-1 is taken by VM 102 (k3s-dev-worker-1 on vmhost), which belongs to stack e2e-whose, cluster ")
	require.Contains(r.t, output, "put the state that knows it back with `em-infra state restore")
	output = r.run("status", "--lab").output
	require.NotContains(r.t, output, "destroy")
	require.NotContains(r.t, output, "orphan        VM")

	require.NoError(r.t, os.RemoveAll(state))
	require.NoError(r.t, os.Rename(away, state))
	require.NoError(r.t, os.RemoveAll(backups))
	require.NoError(r.t, os.Rename(away+"-backups", backups))
}

// wasNotToldOf removes a running machine and its configuration from the state. If isBegun is true, the state still has the pending creation, as after
// a kill between start and note; otherwise it has not even that, as after the lost answer to a clone. up takes the same machine back.
func (r *rehearsal) wasNotToldOf(vmid int, isBegun bool) {
	r.t.Helper()
	birth, seen := r.machine(vmid).VirtualMachineConfig.SMBios1, len(r.calls())
	r.editState(func(deployment *apitype.DeploymentV3) {
		at := slices.IndexFunc(deployment.Resources, func(m apitype.ResourceV3) bool { return m.URN.Name() == "k3s-dev-worker-1-vm" })
		machine := deployment.Resources[at]
		deployment.Resources = slices.DeleteFunc(deployment.Resources, func(m apitype.ResourceV3) bool {
			return strings.HasPrefix(m.URN.Name(), "k3s-dev-worker-1-")
		})
		if isBegun {
			machine.ID, machine.Outputs, machine.Created, machine.Modified = "", nil, nil, nil
			deployment.PendingOperations = []apitype.OperationV2{{Resource: machine, Type: apitype.OperationTypeCreating}}
		}
	})
	foreseen := r.run("preview", "--lab")
	require.Contains(r.t, foreseen.output, "is taken into the state")
	require.NotContains(r.t, foreseen.output, "CREATE   k3s-dev-worker-1  ")

	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, output, "is taken into the state")
	require.Equal(r.t, birth, r.machine(vmid).VirtualMachineConfig.SMBios1, "it is the machine that it was")
	for _, call := range r.calls()[seen:] {
		require.False(r.t, call.Verb == http.MethodDelete && strings.Contains(call.Path, "/qemu/"), "%s", call.Path)
		require.False(r.t, strings.HasSuffix(call.Path, "/clone") || strings.HasSuffix(call.Path, "/status/reboot"), "%s", call.Path)
	}
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab")
}

// destroyNamesWhatStays puts a machine of the stack on the host that no run of it knows.
func (r *rehearsal) destroyNamesWhatStays(vmid int) {
	r.t.Helper()
	machine := r.machine(102)
	owner, isMarked := ownership.In(machine.VirtualMachineConfig.Description)
	require.True(r.t, isMarked)
	task, err := r.host().NewVirtualMachine(r.t.Context(), vmid, proxmox.VirtualMachineOption{Name: "name", Value: "k3s-dev-lost"},
		proxmox.VirtualMachineOption{Name: "description", Value: "lost, " + owner.Mark()})
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 10*time.Millisecond, time.Minute))

	output := r.mustRun(1, "destroy", "--lab", "--yes")
	require.Contains(r.t, output, "VM 150 (k3s-dev-lost) on vmhost")
	require.Contains(r.t, output, "em-infra lab destroy 150")
	require.Contains(r.t, output, "e2e-whose is not gone")
	require.Contains(r.t, r.mustRun(1, "destroy", "--lab", "--yes"), "VM 150 (k3s-dev-lost) on vmhost", "the state is empty by now")
	r.mustRun(0, "lab", "destroy", "150")
	require.Contains(r.t, r.mustRun(0, "destroy", "--lab", "--yes"), "e2e-whose is gone")
}

// editState changes the state as it lies in its folder.
func (r *rehearsal) editState(change func(*apitype.DeploymentV3)) {
	r.t.Helper()
	path := filepath.Join(r.dir(), "state", ".pulumi", "stacks", "em-infra", r.stack+".json")
	var file map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(r.read(path)), &file))
	deployment := r.state()
	change(&deployment)
	file["checkpoint"].(map[string]any)["latest"] = deployment
	text, err := json.Marshal(file)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(path, text, 0o600))
}
