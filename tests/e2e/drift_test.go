package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/luthermonson/go-proxmox"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// TestE2EDriftAndStatus changes a machine and a configuration by hand: drift shows both with both values, up reverts what can
// be reverted, and status works throughout.
func TestE2EDriftAndStatus(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	require.Contains(t, r.mustRun(0, "drift", "--lab"), "no drift: the host and the nodes are as the inventory says\n")
	report := r.status(0)
	require.Empty(t, report.Lacks())
	require.Len(t, report.Members, 1)
	require.Empty(t, report.Orphans)
	require.Contains(t, r.mustRun(0, "versions", "--lab"), ` wanted   Talos v1.12.4, Kubernetes v1.35.4
 runs     Talos v1.12.4, Kubernetes v1.35.4 on k3s-dev-control-1, k3s-dev-worker-1
 next     talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.1 → kubernetes.version v1.37.0, with an up after each
`)

	r.setMemory(102, 4096)
	r.patchByHand("k3s-dev-worker-1", "machine: {sysctls: {vm.max_map_count: \"262144\"}}")
	output := r.mustRun(2, "drift", "--lab")
	require.Regexp(t, `k3s-dev-worker-1-vm +memory\.dedicated +8192 +4096\n`, output)
	require.Regexp(t, `k3s-dev-worker-1 +configuration +- +262144\n +machine\.sysctls\.vm\.max_map_count\n`, output)

	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, r.mustRun(0, "drift", "--lab"), "no drift: the host and the nodes are as the inventory says\n")

	r.patchByHand("k3s-dev-worker-1", "machine: {sysctls: {vm.max_map_count: \"262144\"}}")
	r.mustRun(0, "lab", "fault", "set", "unauthorized")
	output = r.mustRun(1, "drift", "--lab")
	require.Contains(t, output, "not read: proxmox VE at https://127.0.0.1:")
	require.Contains(t, output, "vm.max_map_count", "the nodes are asked although the host does not answer")
	r.mustRun(0, "lab", "fault", "clear")

	r.power(false, 102)
	require.Contains(t, r.mustRun(1, "drift", "--lab"), "not read: k3s-dev-worker-1: its Talos API: ")
	require.Equal(t, "k3s-dev-worker-1: its VM is stopped", r.status(1).Lacks()[0])
}

// status returns the report of em-infra status.
func (r *rehearsal) status(code int) operator.StatusReport {
	r.t.Helper()
	command := r.command(r.t.Context(), "status", "--lab", "--output", "json", "--stack", r.stack, "--inventory", r.inventory)
	output, err := command.Output()
	var report operator.StatusReport
	require.NoError(r.t, json.Unmarshal(output, &report), "%v", err)
	require.Equal(r.t, code, command.ProcessState.ExitCode(), report.Lacks())
	return report
}

// setMemory changes a machine as a user in the web interface would.
func (r *rehearsal) setMemory(vmid, mebibytes int) {
	r.t.Helper()
	machine, err := r.host().VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	task, err := machine.Config(r.t.Context(), proxmox.VirtualMachineOption{Name: "memory", Value: mebibytes})
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
}

// patchByHand changes a node's configuration as `talosctl patch machineconfig` does.
func (r *rehearsal) patchByHand(name, patch string) {
	r.t.Helper()
	outputs := r.status(0)
	var address string
	for _, machine := range outputs.Machines {
		if machine.Name == name {
			address = machine.Address.String()
		}
	}
	api, err := client.New(r.t.Context(), client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig")), client.WithEndpoints(address))
	require.NoError(r.t, err)
	defer api.Close()
	ctx := client.WithNode(r.t.Context(), address)
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
	require.NoError(r.t, err)
	patches, err := configpatcher.LoadPatches([]string{patch})
	require.NoError(r.t, err)
	patched, err := configpatcher.Apply(configpatcher.WithConfig(active.Provider()), patches)
	require.NoError(r.t, err)
	text, err := patched.Bytes()
	require.NoError(r.t, err)
	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{Data: text, Mode: machineapi.ApplyConfigurationRequest_AUTO})
	require.NoError(r.t, err)
}
