package e2e_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2ENewTalosVersionReplacesNoMachine moves the template and the nodes of a cluster that has a pool, a TPM and a GPU worker
// whose mapping is made from the device's address, and then replaces the worker on purpose (F3, F14, F16, F21, F22).
func TestE2ENewTalosVersionReplacesNoMachine(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-template")
	r.edit("cluster.yaml", "template: {vmid: 9000}", "template: {vmid: 9000, tpm: true}\n  pool: made-here")
	r.writeInventory("nodes.yaml", `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.20.11}
  - name: k3s-dev-gpu-1
    role: gpu-worker
    vmid: 103
    address: 192.168.20.31
    diskGiB: 256
    gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]
`)

	r.mustRun(0, "up", "--lab", "--yes")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-gpu-1")
	r.mustRun(0, "preview", "--lab", "--refresh")
	born := r.hostFiles()
	require.Contains(t, born.VMs, "talos-v1.12.4-base")
	require.Equal(t, []string{"made-here"}, r.pools())

	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.12.5")
	seen := len(r.calls())
	output := r.mustRun(0, "up", "--lab", "--yes")
	for _, write := range writes(r.calls()[seen:]) {
		require.NotRegexp(t, `/qemu/10[13]\b`, write, "no machine notices (F3)\n%s", output)
	}
	require.Equal(t, []string{"v1.12.5", "v1.12.5"}, r.releases())
	moved := r.hostFiles()
	require.Contains(t, moved.VMs, "talos-v1.12.5-base")
	require.NotContains(t, moved.VMs, "talos-v1.12.4-base")
	require.Len(t, moved.ISOs, len(born.ISOs)+1, "the ISO that the nodes' drives name stays (F16)")
	r.mustRun(0, "preview", "--lab", "--refresh")

	r.changedSchematicReaches("k3s-dev-control-1", "k3s-dev-gpu-1")

	// Another driver is another image of that worker alone.
	before := r.status(0).Machines
	r.edit("nodes.yaml", "    gpus: [", "    driver: {kernelModuleType: proprietary}\n    gpus: [")
	for i, machine := range r.status(0).Machines {
		require.Equal(t, machine.Name != "k3s-dev-gpu-1", machine.Image.Schematic == before[i].Image.Schematic, machine.Name)
	}
	r.edit("nodes.yaml", "    driver: {kernelModuleType: proprietary}\n", "")

	// The worker loses its GPU and stays the machine that it is.
	r.edit("nodes.yaml", "role: gpu-worker", "role: worker")
	r.edit("nodes.yaml", `    gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]`+"\n", "")
	seen = len(r.calls())
	output = r.mustRun(0, "up", "--lab", "--yes")
	touched := strings.Join(writes(r.calls()[seen:]), "\n")
	require.Regexp(t, `DELETE \S*/mapping/pci/k3s-dev-gpu-1-gpu0`, touched)
	require.Regexp(t, `PUT \S*/qemu/103/config`, touched)
	require.NotContains(t, touched, "/clone", output)
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-gpu-1")

	// It is made anew from the new template, and its drive still names the ISO that it was born with.
	r.replaced("k3s-dev-gpu-1")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-gpu-1")
	r.mustRun(0, "preview", "--lab", "--refresh")

	r.lostISOComesBack()
	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.hostFiles().VMs)
	require.Empty(t, r.pools(), "the pool was made here")
	r.isosAreAdopted()
}

// lostISOComesBack deletes the ISO that the template boots, as in the web interface.
func (r *rehearsal) lostISOComesBack() {
	r.t.Helper()
	template, err := r.host().VirtualMachine(r.t.Context(), 9000)
	require.NoError(r.t, err)
	volume, _, _ := strings.Cut(template.VirtualMachineConfig.IDEs["ide0"], ",")
	local, err := r.host().Storage(r.t.Context(), "local")
	require.NoError(r.t, err)
	_, err = local.DeleteContent(r.t.Context(), volume)
	require.NoError(r.t, err)
	r.eventually(volume+" is gone", func() bool { return !slices.Contains(r.hostFiles().ISOs, volume) })
	require.Contains(r.t, r.mustRun(2, "preview", "--lab"), volume+", unless the host has it")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, r.hostFiles().ISOs, volume)
	r.mustRun(0, "preview", "--lab")
}

// isosAreAdopted creates the machines again on a host that has the ISO: it is neither deleted nor downloaded again.
func (r *rehearsal) isosAreAdopted() {
	r.t.Helper()
	kept, seen := r.hostFiles().ISOs, len(r.calls())
	r.mustRun(0, "up", "--lab", "--yes", "--until", "provision")
	touched := strings.Join(writes(r.calls()[seen:]), "\n")
	require.NotContains(r.t, touched, "/download-url")
	require.NotContains(r.t, touched, "/content/")
	require.ElementsMatch(r.t, kept, r.hostFiles().ISOs)
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// edit replaces a text in one of the inventory's files.
func (r *rehearsal) edit(name, old, replacement string) {
	r.t.Helper()
	text := r.read(filepath.Join(r.inventory, name))
	require.Contains(r.t, text, old)
	r.writeInventory(name, strings.Replace(text, old, replacement, 1))
}

// pools returns the names of the host's resource pools.
func (r *rehearsal) pools() []string {
	r.t.Helper()
	pools, err := r.api().Pools(r.t.Context())
	require.NoError(r.t, err)
	var names []string
	for _, pool := range pools {
		names = append(names, pool.PoolID)
	}
	slices.Sort(names)
	return names
}
