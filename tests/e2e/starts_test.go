package e2e_test

import (
	"testing"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"
)

// TestE2EMachinesWhoseCreationFailed join a running cluster: one does not start, and its host loses its power before the disk
// of another has grown, and starts that machine with the disk of the template.
func TestE2EMachinesWhoseCreationFailed(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-half-made")
	r.mustRun(0, "up", "--lab", "--yes")

	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.20.22}")
	r.mustRun(0, "lab", "fault", "set", "start-fails", "--vm", "103", "--times", "1")
	require.Contains(t, r.mustRun(1, "up", "--lab", "--yes"), "start failed: QEMU exited with code 1")
	output := r.mustRun(2, "preview", "--lab")
	require.Contains(t, output, " CREATE   k3s-dev-worker-2 ")
	require.Contains(t, output, "VM 103 (k3s-dev-worker-2) on vmhost is deleted: its creation ended half way, and it never ran")
	r.mustRun(0, "up", "--lab", "--yes")

	r.addNode("{name: k3s-dev-worker-3, role: worker, vmid: 104, address: 192.168.20.23}")
	r.mustRun(0, "lab", "fault", "set", "host-reboots", "--vm", "104", "--endpoint", "/nodes/{node}/qemu/{vmid}/resize")
	r.mustRun(1, "up", "--lab", "--yes")
	r.eventually("the host has started the machine that is half made", func() bool {
		host, err := r.api().Node(t.Context(), "vmhost")
		if err != nil {
			return false // it is down
		}
		machine, err := host.VirtualMachine(t.Context(), 104)
		return err == nil && machine.Status == proxmox.StatusVirtualMachineRunning
	})
	require.Contains(t, r.machine(104).VirtualMachineConfig.SCSIs["scsi0"], "size=1G")
	output = r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, " CHANGE   k3s-dev-worker-3  disk 1 → 128 GiB\n")
	require.Contains(t, r.machine(104).VirtualMachineConfig.SCSIs["scsi0"], "size=128G")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2", "k3s-dev-worker-3")
	r.mustRun(0, "preview", "--lab")
}
