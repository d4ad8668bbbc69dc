package preflight_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestADiskThatMovesNeedsRoomForAllOfIt: the provider stops the machine before it moves a disk, so that a storage without room leaves
// the machine off. w1 has a disk of 128 GiB and one of 40 GiB; the other two nodes on pve1 ask for 320 GiB.
func TestADiskThatMovesNeedsRoomForAllOfIt(t *testing.T) {
	t.Parallel()
	const before = "storage local on pve1 has room for 1 GiB, storage tank on pve1 has room for 321 GiB, storage local on pve2 has room for 1 GiB, "
	for name, test := range map[string]struct {
		host, system, data string
		shared             bool
		want               string
	}{
		"nothing moves":   {host: "pve2", system: "tank", data: "tank", want: before + "storage tank on pve2 has room for 1 GiB"},
		"the system disk": {host: "pve2", system: "slow", data: "tank", want: before + "storage tank on pve2 has room for 129 GiB"},
		"the data disk":   {host: "pve2", system: "tank", data: "slow", want: before + "storage tank on pve2 has room for 41 GiB"},
		"the machine":     {host: "pve1", system: "tank", data: "tank", want: before + "storage tank on pve2 has room for 169 GiB"},
		"the machine, on a shared storage": {
			host: "pve1", system: "tank", data: "tank", shared: true,
			want: "storage local on pve1 has room for 1 GiB, storage tank has room for 322 GiB, storage local on pve2 has room for 1 GiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, found := sound(t)
			for at := range found.Hosts {
				change(&found, at, func(h *preflight.Host) { h.Storages.Value[1].Shared = pve.Flag(test.shared) })
			}
			add(&found, pve.Guest{VMID: 102, Name: "w1", Node: test.host, Type: "qemu", Status: "running", MemoryBytes: 8 * gib}, pve.GuestConfig{
				"net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,tag=20", "ipconfig0": "ip=192.168.20.21/24",
				"scsi0": test.system + ":vm-102-disk-0,discard=on,size=128G", "scsi1": test.data + ":vm-102-disk-1,size=40G",
			})
			report := preflight.Evaluate(inv, found)
			at := slices.IndexFunc(report, func(check preflight.Check) bool { return check.Name == "storage" })
			require.Equal(t, test.want, report[at].Sentence)
		})
	}
}
