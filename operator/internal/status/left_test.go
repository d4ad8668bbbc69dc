package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestWhatADestroyLeaves: machines of all clusters that the stack had, and no command that deletes a running one.
func TestWhatADestroyLeaves(t *testing.T) {
	t.Parallel()
	before, earlier := ownership.Owner{Stack: "k3s-dev", Cluster: "0123456789ab"}, ownership.Owner{Stack: "k3s-dev", Cluster: "ba9876543210"}
	copied := ownership.Owner{Stack: "k3s-copy", Cluster: before.Cluster}
	guest := func(vmid int, name, state string) pve.Guest {
		return pve.Guest{VMID: vmid, Name: name, Node: "vmhost", Type: "qemu", Status: state}
	}
	found := status.Found{
		Guests: []pve.Guest{guest(102, "w-1", "running"), guest(103, "w-2", "stopped"), guest(104, "w-3", "stopped"), guest(105, "nas", "running")},
		Configs: map[int]pve.GuestConfig{
			102: {"description": before.Mark() + "\n"}, 103: {"description": earlier.Mark()}, 104: {"description": copied.Mark()},
			105: {"ide2": currentISO + ",media=cdrom"},
		},
		Volumes: map[string][]pve.Volume{"vmhost": {
			{ID: currentISO, Content: "iso", Bytes: 1 << 30}, {ID: earlierISO, Content: "iso", Bytes: 1 << 30},
			{ID: "tank:vm-101-disk-0", Content: "images", VMID: 101, Bytes: 1 << 30}, {ID: "tank:vm-900-disk-0", Content: "images", VMID: 900},
			{ID: "tank:vm-102-disk-0", Content: "images", VMID: 102},
		}},
	}
	require.Equal(t, status.Left{
		Machines: []status.Orphan{
			{What: "VM 102 (w-1) on vmhost, which runs", Host: "vmhost", Do: "shut it down, then run `em-infra destroy` again, which says how it is deleted"},
			{What: "VM 103 (w-2) on vmhost", Host: "vmhost", Remove: "qm destroy 103 --purge"},
		},
		Disks: []status.Orphan{{What: "disk tank:vm-101-disk-0 (1.0 GiB): there is no VM 101", Host: "vmhost", Remove: "pvesm free tank:vm-101-disk-0"}},
		ISOs: []status.Orphan{
			{What: currentISO + " (1.0 GiB)", Host: "vmhost", Do: "leave it: a machine names it in its drive, and would not start without it"},
			{What: earlierISO + " (1.0 GiB)", Host: "vmhost", Remove: "pvesm free " + earlierISO},
		},
	}, status.LeftOf(found, []ownership.Owner{before, earlier}, []int{101, 102}, []string{currentISO, earlierISO}))
}
