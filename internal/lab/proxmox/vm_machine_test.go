package proxmox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// TestDisksOfAVM checks how a guest sees its disks, by release and machine version.
func TestDisksOfAVM(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, settings, scsi, deviceID string
		release                        schema.Release
	}{
		{"8.4", "scsihw=virtio-scsi-single machine=q35", "virtio-scsi-single", "", schema.Release84},
		{"9.1", "scsihw=virtio-scsi-pci machine=q35", "virtio-scsi-pci", "drive-scsi1", schema.Release91},
		{"9.1, an old machine", "machine=pc-q35-9.2+pve1", "lsi", "", schema.Release91},
		{"9.1, a new machine", "machine=pc-q35-10.0", "lsi", "drive-scsi1", schema.Release91},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			m := &machines{}
			l := newLab(t, func(c *proxmox.Config) {
				c.Machines, c.Release = m, test.release
				c.Tokens[0].Privileges = proxmox.OperatorPrivileges(test.release)
			})
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi1=tank:2,serial=data,ssd=1 boot=order=scsi1 start=1 "+test.settings))

			machine := m.machine(101)
			require.Equal(t, test.scsi, machine.SCSI)
			require.Equal(t, []proxmox.Disk{{
				Slot: "scsi1", ID: machine.Disks[0].ID, Bytes: 2 << 30, Serial: "data", DeviceID: test.deviceID, SSD: true,
			}}, machine.Disks)
		})
	}
}

// TestDisksOfARunningVM: the guest sees a larger or a new disk at once, but a separate I/O thread or another controller only
// after the next start.
func TestDisksOfARunningVM(t *testing.T) {
	t.Parallel()

	m := &machines{}
	l := newLab(t, withMachines(m))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsihw=virtio-scsi-single scsi0=tank:8,iothread=1,serial=a start=1"))

	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=16G"))
	require.Equal(t, uint64(16<<30), m.machine(101).Disks[0].Bytes)

	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("scsi1=tank:2"), nil)
	require.Len(t, m.machine(101).Disks, 2)

	var config map[string]any
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("current=1"), &config)
	require.Contains(t, config["scsi0"], "iothread=1")
	volume, _, _ := strings.Cut(config["scsi0"].(string), ",")

	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("scsihw=virtio-scsi-pci scsi0="+volume+",iothread=0,serial=a,size=16G"), nil)
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("current=1"), &config)
	require.Contains(t, config["scsi0"], "iothread=1", "pending")
	require.Equal(t, "virtio-scsi-single", config["scsihw"], "pending")

	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("scsi0="+volume+",iothread=1,size=16G"), nil)
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("current=1"), &config)
	require.NotContains(t, config["scsi0"], "serial", "a serial is written at once")
}
