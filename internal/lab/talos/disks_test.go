package talos_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// dataDisk selects data disk scsi1, as in Talos' documentation for Proxmox VE.
const dataDisk = `disk.transport == "virtio" && glob("*/virtio*:0:0:1", disk.bus_path)`

// TestDisksLookAsOnAHost checks how Talos shows each kind of disk.
func TestDisksLookAsOnAHost(t *testing.T) {
	t.Parallel()

	const scsi = "scsi-0QEMU_QEMU_HARDDISK_"

	for _, test := range []struct {
		name                              string
		scsi                              talos.SCSIController
		disk                              talos.Disk
		devName, transport, serial, model string
		busPath                           string // suffix
		byID                              string
		rotational                        bool
	}{
		{
			"virtio-scsi, a serial, PVE 8", talos.SCSIVirtIOSingle, talos.Disk{Slot: 1, Serial: "data"},
			"sda", "virtio", "", "QEMU HARDDISK", "/virtio1/host6/target6:0:0/6:0:0:1", scsi + "data", false,
		},
		{
			"virtio-scsi, no serial, PVE 8", talos.SCSIVirtIOSingle, talos.Disk{Bus: talos.BusSCSI, Slot: 2},
			"sda", "virtio", "", "QEMU HARDDISK", "/virtio1/host6/target6:0:0/6:0:0:2", scsi + "drive-scsi2", false,
		},
		{
			"virtio-scsi, a serial, PVE 9", talos.SCSIVirtIO, talos.Disk{Slot: 13, Serial: "data", DeviceID: "drive-scsi13"},
			"sda", "virtio", "", "QEMU HARDDISK", "/virtio1/host6/target6:0:0/6:0:0:13", scsi + "drive-scsi13", false,
		},
		{
			"a long serial", talos.SCSIVirtIO, talos.Disk{Slot: 1, Serial: strings.Repeat("x", 21), Rotational: true},
			"sda", "virtio", "", "QEMU HARDDISK", "/virtio1/host6/target6:0:0/6:0:0:1", scsi + strings.Repeat("x", 20), true,
		},
		{
			"LSI", talos.SCSILSI, talos.Disk{Slot: 3},
			"sda", "spi", "", "QEMU HARDDISK", "/host6/target6:0:3/6:0:3:0", scsi + "drive-scsi3", false,
		},
		{
			"virtio-blk", talos.SCSIVirtIO, talos.Disk{Bus: talos.BusVirtIO, Slot: 1, Serial: "data"},
			"vda", "virtio", "data", "", "/virtio2", "virtio-data", false,
		},
		{
			"SATA", talos.SCSIVirtIO, talos.Disk{Bus: talos.BusSATA, Slot: 1},
			"sda", "sata", "", "QEMU HARDDISK", "/ata2/host1/target1:0:0/1:0:0:0", "ata-QEMU_HARDDISK_QM00003", false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			test.disk.ID, test.disk.Bytes = "tank:vm-101-disk-0", 64<<30
			l.powerOnWith(101, test.scsi, test.disk)
			l.waitStage(101, talos.StageMaintenance)

			disk, err := safe.StateGetByID[*block.Disk](t.Context(), l.insecure(101).COSI, test.devName)
			require.NoError(t, err)

			spec := disk.TypedSpec()
			require.Equal(t, test.transport, spec.Transport)
			require.Equal(t, test.serial, spec.Serial)
			require.Empty(t, spec.WWID)
			require.Equal(t, test.model, spec.Model)
			require.Equal(t, test.rotational, spec.Rotational)
			require.True(t, strings.HasSuffix(spec.BusPath, test.busPath), spec.BusPath)
			require.Contains(t, spec.Symlinks, "/dev/disk/by-id/"+test.byID)
			require.Equal(t, "/sys/class/block", spec.SubSystem)
		})
	}
}

// TestDisksAreNamedInAnyOrder: the seed determines which disk is /dev/sda, and each disk has its own number at the end of its
// path.
func TestDisksAreNamedInAnyOrder(t *testing.T) {
	t.Parallel()

	orders := map[string]bool{}
	for _, seed := range []string{"a", "a", "b", "c", "d", "e", "f"} {
		order := namesOf(t, seed)
		if seed == "a" && len(orders) == 1 {
			require.Contains(t, orders, order, "the same seed")
		}
		orders[order] = true
	}
	require.Greater(t, len(orders), 1)
	require.True(t, slices.ContainsFunc(sortedKeys(orders), func(o string) bool { return !strings.HasPrefix(o, "0") }), "%v", orders)
}

// namesOf returns the numbers of the drives in the order of their names.
func namesOf(t *testing.T, seed string) (order string) {
	t.Helper()

	l := newLab(t, func(c *talos.Config) { c.Seed = sha256.Sum256([]byte(seed)) })
	l.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	l.waitStage(101, talos.StageMaintenance)

	for _, name := range []string{"sda", "sdb", "sdc"} {
		disk, err := safe.StateGetByID[*block.Disk](t.Context(), l.insecure(101).COSI, name)
		require.NoError(t, err)

		number := disk.TypedSpec().BusPath[strings.LastIndex(disk.TypedSpec().BusPath, ":")+1:]
		slot, err := strconv.Atoi(number)
		require.NoError(t, err)
		require.Equal(t, threeDisks()[slot].Bytes, disk.TypedSpec().Size, "disk %s is the one that its path says", name)

		order += number
	}

	return order
}

func sortedKeys(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)

	return keys
}

// threeDisks returns disks of different sizes: scsi0 of 64 GiB, scsi1 of 65 GiB, scsi2 of 66 GiB.
func threeDisks() (disks []talos.Disk) {
	for slot := range 3 {
		disks = append(disks, talos.Disk{ID: fmt.Sprintf("tank:vm-101-disk-%d", slot), Slot: slot, Bytes: uint64(64+slot) << 30})
	}

	return disks
}

// powerOnWith switches on a machine that boots from scsi0, otherwise from its ISO, like the VMs of em-infra.
func (l *lab) powerOnWith(vmid int, scsi talos.SCSIController, disks ...talos.Disk) {
	l.t.Helper()

	guest := l.hardware(vmid)
	guest.SCSI, guest.Disks, guest.ISODrive, guest.BootOrder = scsi, disks, "ide0", []string{"scsi0", "ide0"}
	require.NoError(l.t, l.fleet.PowerOn(l.t.Context(), guest))
}

// seedWith returns a seed for which the order of the disk names in the machine's first boot meets a condition.
func seedWith(t *testing.T, holds func(order string) bool) string {
	t.Helper()

	for seed := range 20 {
		if text := strconv.Itoa(seed); holds(namesOf(t, text)) {
			return text
		}
	}
	t.Fatal("no seed does")

	return ""
}

func byPath(c *v1alpha1.Config) {
	c.MachineConfig.MachineInstall.InstallDisk = ""
	c.MachineConfig.MachineInstall.InstallDiskSelector = &v1alpha1.InstallDiskSelector{BusPath: "*/virtio*:0:0:0"}
}

// TestTalosOnTheWrongDiskHalts: with a disk name Talos is installed on a data disk; the firmware finds scsi0 blank, boots the
// ISO again, and the boot halts. With the path it is installed on scsi0.
func TestTalosOnTheWrongDiskHalts(t *testing.T) {
	t.Parallel()

	seed := seedWith(t, func(order string) bool { return !strings.HasPrefix(order, "0") })
	seeded := func(c *talos.Config) { c.Seed = sha256.Sum256([]byte(seed)) }

	byName := newLab(t, seeded)
	byName.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	byName.waitStage(101, talos.StageMaintenance)
	byName.apply(101, byName.cluster("k3s-dev").controlPlane())
	byName.eventually(func() bool {
		return byName.log.has("halt", "Talos is already installed to disk but booted from another media and talos.halt_if_installed kernel parameter is set. Please reboot from the disk.")
	}, "it does not halt")

	selected := newLab(t, seeded)
	selected.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	selected.waitStage(101, talos.StageMaintenance)
	c := selected.cluster("k3s-dev")
	selected.apply(101, c.controlPlane(byPath))
	selected.waitStage(101, talos.StageRunning)

	system, err := safe.StateGetByID[*block.SystemDisk](t.Context(), c.admin(101).COSI, block.SystemDiskID)
	require.NoError(t, err)
	disk, err := safe.StateGetByID[*block.Disk](t.Context(), c.admin(101).COSI, system.TypedSpec().DiskID)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(disk.TypedSpec().BusPath, ":0:0:0"), disk.TypedSpec().BusPath)
}

// TestASelectorThatMatchesNothingFailsTheInstallation: only on the platform metal Talos checks the disk when a configuration
// is applied (machinery v1.12.4, RuntimeValidate checks RequiresInstall). The platform nocloud accepts it, and the
// installation fails.
func TestASelectorThatMatchesNothingFailsTheInstallation(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	l.waitStage(101, talos.StageMaintenance)
	l.apply(101, l.cluster("k3s-dev").controlPlane(func(c *v1alpha1.Config) {
		c.MachineConfig.MachineInstall.InstallDiskSelector = &v1alpha1.InstallDiskSelector{BusPath: "*/virtio*:0:0:9"}
	}))

	l.eventually(func() bool {
		return l.log.has("failure", `install: no disks matched the expression: disk.transport != "" && glob("*/virtio*:0:0:9", disk.bus_path) && !disk.readonly &&
!disk.cdrom`)
	}, "the installation does not fail")
	l.waitStage(101, talos.StageMaintenance)
}

// TestVolumes follows a user volume: its configuration is accepted with any selector, a volume without a matching disk fails
// on its own, and after a correction it is created and mounted. At the next boot it is found by its label under other names.
func TestVolumes(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	l.waitStage(101, talos.StageMaintenance)
	c := l.cluster("k3s-dev")
	l.apply(101, c.withVolume(`disk.serial == "data"`))
	l.waitStage(101, talos.StageRunning)

	status := c.volume(101, "u-data")
	require.Equal(t, block.VolumePhaseFailed, status.Phase)
	require.Equal(t, "no disks matched selector for volume", status.ErrorMessage)
	require.Equal(t, block.VolumePhaseReady, c.volume(101, "EPHEMERAL").Phase)
	require.NotContains(t, c.mounts(101), "/var/mnt/data")

	c.reconfigure(101, c.withVolume(dataDisk))
	status = c.volume(101, "u-data")
	require.Equal(t, block.VolumePhaseReady, status.Phase, status.ErrorMessage)
	require.Equal(t, uint64(65<<30-2<<20), status.Size)
	require.Equal(t, status.Location, c.mounts(101)["/var/mnt/data"])

	c.reconfigure(101, c.withVolume(`disk.serial == "data"`))
	require.Equal(t, block.VolumePhaseReady, c.volume(101, "u-data").Phase, "the selector counts once")

	for range 3 {
		c.reboot(101)
		volume := c.volume(101, "u-data")
		require.Equal(t, block.VolumePhaseReady, volume.Phase)
		require.True(t, strings.HasSuffix(c.disk(101, volume.ParentLocation).BusPath, ":0:0:1"))
	}
}

// TestVolumesGrowAtTheNextBoot: the disk is larger at once, its volume after a boot.
func TestVolumesGrowAtTheNextBoot(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()...)
	l.waitStage(101, talos.StageMaintenance)
	c := l.cluster("k3s-dev")
	l.apply(101, c.withVolume(dataDisk))
	l.waitStage(101, talos.StageRunning)

	before := c.volume(101, "EPHEMERAL").Size
	grown := threeDisks()
	grown[0].Bytes += 10 << 30
	grown[1].Bytes += 20 << 30
	require.NoError(t, l.fleet.ChangeDisks(101, grown))

	require.Equal(t, before, c.volume(101, "EPHEMERAL").Size)
	require.Equal(t, uint64(65<<30-2<<20), c.volume(101, "u-data").Size)
	require.Equal(t, uint64(85<<30), c.disk(101, c.volume(101, "u-data").ParentLocation).Size)

	c.reboot(101)
	require.Equal(t, before+10<<30, c.volume(101, "EPHEMERAL").Size)
	require.Equal(t, uint64(85<<30-2<<20), c.volume(101, "u-data").Size)
}

// TestADiskIsPluggedIntoARunningMachine: the disk is available at once, under a free name, and so is its volume.
func TestADiskIsPluggedIntoARunningMachine(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOnWith(101, talos.SCSIVirtIOSingle, threeDisks()[0])
	l.waitStage(101, talos.StageMaintenance)
	c := l.cluster("k3s-dev")
	l.apply(101, c.withVolume(dataDisk))
	l.waitStage(101, talos.StageRunning)
	require.Equal(t, block.VolumePhaseFailed, c.volume(101, "u-data").Phase)

	require.NoError(t, l.fleet.ChangeDisks(101, threeDisks()[:2]))
	require.Equal(t, "/dev/sdb1", c.volume(101, "u-data").Location)

	require.NoError(t, l.fleet.ChangeDisks(101, threeDisks()[:1]))
	require.Len(t, c.mounts(101), 3, "a volume that is ready is not looked at again")
	_, err := safe.StateGetByID[*block.Disk](t.Context(), c.admin(101).COSI, "sdb")
	require.Error(t, err)
}

// withVolume returns a control plane that is installed on scsi0, with the user volume data on the disks that a selector
// matches.
func (c *cluster) withVolume(selector string) []byte {
	c.lab.t.Helper()

	return append(c.controlPlane(byPath), fmt.Sprintf(`---
apiVersion: v1alpha1
kind: UserVolumeConfig
name: data
provisioning:
  diskSelector:
    match: %s
  minSize: 1GiB
  grow: true
`, selector)...)
}

func (c *cluster) reconfigure(vmid int, cfg []byte) {
	c.lab.t.Helper()

	_, err := c.admin(vmid).ApplyConfiguration(c.lab.t.Context(), &machine.ApplyConfigurationRequest{
		Data: cfg, Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
	})
	require.NoError(c.lab.t, err)
}

func (c *cluster) reboot(vmid int) {
	c.lab.t.Helper()

	former := c.bootID(vmid)
	require.NoError(c.lab.t, c.admin(vmid).Reboot(c.lab.t.Context()))
	c.waitNewBoot(vmid, former)
}

func (c *cluster) volume(vmid int, id string) *block.VolumeStatusSpec {
	c.lab.t.Helper()

	volume, err := safe.StateGetByID[*block.VolumeStatus](c.lab.t.Context(), c.admin(vmid).COSI, id)
	require.NoError(c.lab.t, err)

	return volume.TypedSpec()
}

func (c *cluster) disk(vmid int, path string) *block.DiskSpec {
	c.lab.t.Helper()

	disk, err := safe.StateGetByID[*block.Disk](c.lab.t.Context(), c.admin(vmid).COSI, strings.TrimPrefix(path, "/dev/"))
	require.NoError(c.lab.t, err)

	return disk.TypedSpec()
}

// mounts returns the sources of the mounts, by their targets.
func (c *cluster) mounts(vmid int) map[string]string {
	c.lab.t.Helper()

	list, err := safe.StateListAll[*block.MountStatus](c.lab.t.Context(), c.admin(vmid).COSI)
	require.NoError(c.lab.t, err)

	mounts := map[string]string{}
	for mount := range list.All() {
		mounts[mount.TypedSpec().Target] = mount.TypedSpec().Source
	}

	return mounts
}
