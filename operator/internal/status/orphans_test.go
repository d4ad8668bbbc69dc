package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

const (
	currentISO = "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso"
	earlierISO = "local:iso/talos-v1.12.3-nocloud-0123456789abcdef-amd64.iso"
)

func TestOrphans(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "k3s-dev", Cluster: "0123456789ab"}
	ours := status.Ours{
		Owner: owner,
		VMIDs: []int{101, 9000},
		Named: map[int]string{101: "k3s-dev-control-1", 102: "worker-1", 9000: "talos-v1.12.4-base"},
		ISO:   []string{currentISO},
	}
	control := pve.Guest{VMID: 101, Name: "k3s-dev-control-1", Node: "vmhost", Type: "qemu"}
	for _, test := range []struct {
		name  string
		found status.Found
		want  []status.Orphan
	}{
		{
			name: "everything is in use",
			found: status.Found{
				Guests:  []pve.Guest{control, {VMID: 9000, Name: "talos-v1.12.4-base", Node: "vmhost", Type: "qemu"}},
				Configs: map[int]pve.GuestConfig{101: {"ide2": earlierISO + ",media=cdrom,size=300M", "scsi0": "tank:vm-101-disk-0,size=64G"}},
				Volumes: map[string][]pve.Volume{"vmhost": {
					{ID: "tank:vm-101-disk-0", Content: "images", VMID: 101},
					{ID: currentISO, Content: "iso"},
					{ID: earlierISO, Content: "iso"},
					{ID: "local:iso/debian-13.iso", Content: "iso"},
					{ID: "local:backup/vzdump-qemu-77.vma.zst", Content: "backup", VMID: 77},
				}},
			},
		},
		{
			name: "machines that the state lost, and those of a copy of the stack",
			found: status.Found{
				Guests: []pve.Guest{
					control,
					{VMID: 102, Name: "worker-1", Node: "vmhost2", Type: "qemu", Status: "running"},
					{VMID: 103, Name: "k3s-dev-worker-3", Node: "vmhost", Type: "qemu", Status: "running"},
					{VMID: 108, Name: "k3s-dev-worker-8", Node: "vmhost", Type: "qemu", Status: "running"},
					{VMID: 109, Name: "k3s-dev-worker-9", Node: "vmhost", Type: "qemu", Status: "stopped"},
					{VMID: 110, Name: "k3s-dev-dns", Node: "vmhost", Type: "lxc"},
					{VMID: 111, Name: "homeassistant", Node: "vmhost", Type: "qemu"},
				},
				Configs: map[int]pve.GuestConfig{
					102: {"description": "Talos worker, " + owner.Mark() + ".\n"},
					103: {"description": "Talos worker, " + ownership.Owner{Stack: "k3s-copy", Cluster: owner.Cluster}.Mark() + ".\n", "unused0": "tank:vm-103-disk-3"},
					108: {"description": "Talos worker, " + owner.Mark() + ".\n"},
					109: {"description": "Talos worker, " + owner.Mark() + ".\n"},
				},
			},
			want: []status.Orphan{
				{What: "VM 102 (worker-1): the state does not know it", Host: "vmhost2", Do: "run `em-infra up`, which takes it into the state"},
				{
					What: "VM 108 (k3s-dev-worker-8): the state does not know it, and it runs", Host: "vmhost",
					Do: "put the state that knows it back with `em-infra state restore`, or give it its place in nodes.yaml; if it is no longer needed, shut it down, and look again",
				},
				{What: "VM 109 (k3s-dev-worker-9): the state does not know it", Host: "vmhost", Remove: "qm destroy 109 --purge"},
			},
		},
		{
			name: "F37: disks without a machine, and those that one does not use any more",
			found: status.Found{
				Guests:  []pve.Guest{control, {VMID: 111, Name: "homeassistant", Node: "vmhost", Type: "qemu"}},
				Configs: map[int]pve.GuestConfig{101: {"unused0": "tank:vm-101-disk-3"}, 111: {"unused0": "tank:vm-111-disk-1"}},
				Volumes: map[string][]pve.Volume{
					"vmhost2": {{ID: "tank:vm-120-disk-0", Content: "images", VMID: 120, Bytes: 3 << 29}},
					"vmhost":  {{ID: "tank:vm-103-disk-0", Content: "images", VMID: 103, Bytes: 128 << 30}},
				},
			},
			want: []status.Orphan{
				{What: "disk tank:vm-103-disk-0 (128.0 GiB): there is no VM 103", Host: "vmhost", Remove: "pvesm free tank:vm-103-disk-0"},
				{What: "disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120", Host: "vmhost2", Remove: "pvesm free tank:vm-120-disk-0"},
				{What: "disk tank:vm-101-disk-3: VM 101 (k3s-dev-control-1) does not use it any more", Host: "vmhost", Remove: "qm disk unlink 101 --idlist unused0 --force"},
			},
		},
		{
			name:  "an ISO that nothing boots",
			found: status.Found{Volumes: map[string][]pve.Volume{"vmhost": {{ID: currentISO, Content: "iso"}, {ID: earlierISO, Content: "iso", Bytes: 1 << 28}}}},
			want:  []status.Orphan{{What: earlierISO + " (0.2 GiB): no machine boots it", Host: "vmhost", Remove: "pvesm free " + earlierISO}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, ours.Orphans(test.found))
		})
	}
}
