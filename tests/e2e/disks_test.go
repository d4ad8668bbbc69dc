package e2e_test

import (
	"encoding/json"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
)

// dataDiskFirst is a seed by which the kernel of VM 104 finds its data disk before its system disk, at its first boots.
const dataDiskFirst = "disks 7"

// disksAreFound: the system disk of worker 2 is not /dev/sda, Talos is installed on it nevertheless, and the volume of the data
// disk is ready and on the right disk.
func (r *rehearsal) disksAreFound(address string) {
	r.t.Helper()
	api, err := client.New(r.t.Context(), client.WithConfigFromFile(r.dir()+"/talosconfig"))
	require.NoError(r.t, err)
	defer api.Close()
	system, err := safe.StateGetByID[*block.SystemDisk](client.WithNode(r.t.Context(), address), api.COSI, block.SystemDiskID)
	require.NoError(r.t, err)
	require.Equal(r.t, "/dev/sdb", system.TypedSpec().DevPath, "the seed names the data disk first")

	worker := r.statusOf("k3s-dev-worker-2")
	require.Equal(r.t, "scsi0", worker.Node.InstalledOn)
	require.Equal(r.t, []string{"models"}, worker.DataDisks)
	models := volumeOf(worker, "models")
	require.True(r.t, models.Ready(), "%+v", models)
	require.Equal(r.t, "scsi1", models.Drive)
}

// roomComesWithTheNextBoot: the preview announces that a data disk grows; it grows without a reboot, and its space is used
// after one.
func (r *rehearsal) roomComesWithTheNextBoot() {
	r.t.Helper()
	const mib = 1 << 20
	r.edit("nodes.yaml", "sizeGiB: 20", "sizeGiB: 30")
	require.Contains(r.t, r.mustRun(2, "preview", "--lab"), " CHANGE   k3s-dev-worker-2  data disk 20 → 30 GiB\n"+
		"          Talos uses the room from the node's next boot on: `em-infra reboot k3s-dev-worker-2` brings it about\n")
	require.Contains(r.t, r.mustRun(0, "up", "--lab", "--yes"), "grown disk    scsi1 of k3s-dev-worker-2: /var/mnt/models has 10 GiB more from the node's next boot on: `em-infra reboot k3s-dev-worker-2`\n")
	require.Equal(r.t, uint64(20<<30-2*mib), volumeOf(r.statusOf("k3s-dev-worker-2"), "models").Bytes)

	r.mustRun(0, "lab", "fault", "set", "talos-api-unavailable", "--endpoint", "/machine.MachineService/Reboot")
	output := r.mustRun(1, "reboot", "--lab", "--yes", "k3s-dev-worker-2")
	require.Contains(r.t, output, "k3s-dev-worker-2 is drained")
	require.Contains(r.t, output, "k3s-dev-worker-2 does not take the order to reboot")
	require.Contains(r.t, output, "k3s-dev-worker-2 takes pods again", "a node that goes on as it was is not left cordoned")
	r.mustRun(0, "lab", "fault", "clear")

	output = r.mustRun(0, "reboot", "--lab", "--yes", "k3s-dev-worker-2")
	require.Contains(r.t, output, "k3s-dev-worker-2 works again")
	require.Equal(r.t, uint64(30<<30-2*mib), volumeOf(r.statusOf("k3s-dev-worker-2"), "models").Bytes)
	require.NotContains(r.t, r.mustRun(0, "status", "--lab"), "grown disk")
}

// statusOf returns the entry of one machine in `status`.
func (r *rehearsal) statusOf(name string) operator.MachineStatus {
	r.t.Helper()
	var report operator.StatusReport
	text := r.mustRun(0, "status", "--lab", "--output", "json")
	require.NoError(r.t, json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &report))
	for _, machine := range report.Machines {
		if machine.Name == name {
			return machine
		}
	}
	r.t.Fatalf("status names no %s:\n%s", name, text)
	return operator.MachineStatus{}
}

func volumeOf(machine operator.MachineStatus, name string) nodeops.Volume {
	for _, volume := range machine.Node.Volumes {
		if volume.Name == name {
			return volume
		}
	}
	return nodeops.Volume{}
}
