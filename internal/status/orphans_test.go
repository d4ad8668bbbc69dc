package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/status"
)

const (
	currentISO = "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso"
	earlierISO = "local:iso/talos-v1.12.3-nocloud-0123456789abcdef-amd64.iso"
)

func TestOrphans(t *testing.T) {
	t.Parallel()
	ours := status.Ours{
		Cluster: "k3s-dev",
		VMIDs:   []int{101, 9000},
		Named:   map[int]string{101: "k3s-dev-control-1", 102: "worker-1", 9000: "talos-v1.12.4-base"},
		ISO:     []string{currentISO},
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
			name: "machines that the state lost, by the inventory's name and by the cluster's",
			found: status.Found{Guests: []pve.Guest{
				control,
				{VMID: 102, Name: "worker-1", Node: "vmhost2", Type: "qemu"},
				{VMID: 109, Name: "k3s-dev-worker-9", Node: "vmhost", Type: "qemu"},
				{VMID: 110, Name: "k3s-dev-dns", Node: "vmhost", Type: "lxc"},
				{VMID: 111, Name: "homeassistant", Node: "vmhost", Type: "qemu"},
			}},
			want: []status.Orphan{
				{"VM 102 (worker-1): the state does not know it", "vmhost2", "qm stop 102; qm destroy 102 --purge"},
				{"VM 109 (k3s-dev-worker-9): the state does not know it", "vmhost", "qm stop 109; qm destroy 109 --purge"},
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
				{"disk tank:vm-103-disk-0 (128.0 GiB): there is no VM 103", "vmhost", "pvesm free tank:vm-103-disk-0"},
				{"disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120", "vmhost2", "pvesm free tank:vm-120-disk-0"},
				{"disk tank:vm-101-disk-3: VM 101 (k3s-dev-control-1) does not use it any more", "vmhost", "qm disk unlink 101 --idlist unused0 --force"},
			},
		},
		{
			name:  "an ISO that nothing boots",
			found: status.Found{Volumes: map[string][]pve.Volume{"vmhost": {{ID: currentISO, Content: "iso"}, {ID: earlierISO, Content: "iso", Bytes: 1 << 28}}}},
			want:  []status.Orphan{{earlierISO + " (0.2 GiB): no machine boots it", "vmhost", "pvesm free " + earlierISO}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, ours.Orphans(test.found))
		})
	}
}
