package talos

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// device is a disk as Linux shows it during one boot.
type device struct {
	Disk
	name string // for example sda
	scsi int    // number of its SCSI host
	SCSI SCSIController
}

func (d device) path() string { return "/dev/" + d.name }

// firstSCSIHost is the number of the first SCSI host after the six SATA ports of a q35 machine.
const firstSCSIHost = 6

// ahci is the SATA controller of a q35 machine. Its IDE drives are attached to it as well.
const ahci = "/pci0000:00/0000:00:1f.2"

// devices returns the disks with their names of one boot. The kernel names SCSI disks in the order of discovery and probes
// controllers in parallel: /dev/sda need not be scsi0 (bpg/terraform-provider-proxmox#1633). The order depends on the seed,
// the machine and the number of the boot. Disks of virtio-blk are named in slot order.
func (h Hardware) devices(seed [sha256.Size]byte, boot int) []device {
	found := slices.Clone(h.Disks)
	chance := rand.New(rand.NewChaCha8(bootSeed(seed, h.VMID, boot)))
	chance.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })

	var devices []device
	for _, disk := range found {
		if disk.Bus != BusVirtIO {
			devices = h.plug(devices, disk)
		}
	}

	for _, disk := range h.Disks {
		if disk.Bus == BusVirtIO {
			devices = h.plug(devices, disk)
		}
	}

	return inNameOrder(devices)
}

func bootSeed(seed [sha256.Size]byte, vmid, boot int) [sha256.Size]byte {
	text := append([]byte("disks"), seed[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(vmid))

	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(boot)))
}

// plug adds a disk under the first free name.
func (h Hardware) plug(devices []device, disk Disk) []device {
	host := firstSCSIHost
	for _, d := range devices {
		if disk.isSCSI() && d.isSCSI() && cmp.Or(h.SCSI, SCSIVirtIOSingle) == SCSIVirtIOSingle {
			host = max(host, d.scsi+1)
		}
	}

	prefix := "sd"
	if disk.Bus == BusVirtIO {
		prefix = "vd"
	}

	for n := 0; ; n++ {
		name := prefix + letters(n)
		if !slices.ContainsFunc(devices, func(d device) bool { return d.name == name }) {
			return append(devices, device{Disk: disk, name: name, scsi: host, SCSI: cmp.Or(h.SCSI, SCSIVirtIOSingle)})
		}
	}
}

// letters returns a to z, aa to az and so on (drivers/scsi/sd.c, sd_format_disk_name).
func letters(n int) string {
	const alphabet = 26
	if n < alphabet {
		return string(rune('a' + n))
	}

	return letters(n/alphabet-1) + letters(n%alphabet)
}

func inNameOrder(devices []device) []device {
	slices.SortFunc(devices, func(a, b device) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})

	return devices
}

// transport returns the transport that go-blockdevice v2.0.23 derives from the controller's driver (block/device_linux.go,
// getTransport).
func (d device) transport() string {
	switch {
	case d.Bus == BusVirtIO:
		return "virtio"
	case d.isSCSI() && d.SCSI == SCSILSI:
		return "spi"
	case d.isSCSI():
		return "virtio"
	default:
		return "sata"
	}
}

// busPath returns the path of the device in sysfs. With both virtio-scsi controllers the LUN is the number of the drive
// (qemu-server, DriveDevice.pm, print_drivedevice_full). PCI addresses resemble those of a q35 machine but are not the same.
func (d device) busPath() string {
	switch {
	case d.Bus == BusVirtIO:
		return fmt.Sprintf("/pci0000:00/%s/virtio%d", d.pciAddress(), d.Slot+1)
	case d.isSCSI() && d.SCSI == SCSILSI:
		return fmt.Sprintf("/pci0000:00/%s/host%d/target%[2]d:0:%[3]d/%[2]d:0:%[3]d:0", d.pciAddress(), d.scsi, d.Slot)
	case d.isSCSI():
		return fmt.Sprintf("/pci0000:00/0000:00:1e.0/0000:05:01.0/%s/virtio%d/host%d/target%[3]d:0:0/%[3]d:0:0:%[4]d",
			d.pciAddress(), d.scsi-firstSCSIHost+1, d.scsi, d.Slot)
	default:
		return fmt.Sprintf("%s/ata%d/host%d/target%[3]d:0:0/%[3]d:0:0:0", ahci, d.Slot+1, d.Slot)
	}
}

func (d device) pciAddress() string {
	switch {
	case d.Bus == BusVirtIO:
		return fmt.Sprintf("0000:06:%02x.0", d.Slot+10)
	case d.SCSI == SCSIVirtIOSingle:
		return fmt.Sprintf("0000:09:%02x.0", d.Slot+1)
	default:
		return "0000:06:05.0"
	}
}

// serial returns the serial that Talos v1.12.4 shows: the file in sysfs, which only virtio-blk has. Talos asks udev's scsi_id
// for the transports "ata" and "scsi" only, which no disk here has (controllers/block/disks.go, serialFromUdevdHelpers).
func (d device) serial() string {
	if d.Bus == BusVirtIO {
		return d.Serial
	}

	return ""
}

// symlinks returns udev's links below /dev/disk. QEMU identifies a SCSI disk by its device_id, otherwise by the first 20
// characters of its serial, otherwise by the drive's name (hw/scsi/scsi-disk.c, scsi_realize).
func (d device) symlinks() []string {
	const longest = 20

	var id string

	switch {
	case d.Bus == BusVirtIO && d.Serial == "":
	case d.Bus == BusVirtIO:
		id = "virtio-" + d.Serial
	case d.isSCSI():
		id = "scsi-0QEMU_QEMU_HARDDISK_" + cmp.Or(d.DeviceID, d.Serial[:min(longest, len(d.Serial))], "drive-"+d.drive())
	default:
		id = "ata-QEMU_HARDDISK_" + cmp.Or(d.Serial, fmt.Sprintf("QM%05d", 2*d.Slot+1))
	}

	links := []string{"/dev/disk/by-path/" + d.pathLink()}
	if id != "" {
		links = append(links, "/dev/disk/by-id/"+id)
	}

	slices.Sort(links)

	return links
}

// pathLink returns the name that udev's path_id makes.
func (d device) pathLink() string {
	switch {
	case d.Bus == BusVirtIO:
		return "pci-" + d.pciAddress()
	case d.isSCSI() && d.SCSI == SCSILSI:
		return fmt.Sprintf("pci-%s-scsi-0:0:%d:0", d.pciAddress(), d.Slot)
	case d.isSCSI():
		return fmt.Sprintf("pci-%s-scsi-0:0:0:%d", d.pciAddress(), d.Slot)
	default:
		return fmt.Sprintf("pci-0000:00:1f.2-ata-%d", d.Slot+1)
	}
}

// partitionPath returns the device of a partition. The first one is 1.
func (d device) partitionPath(number int) string { return fmt.Sprintf("%s%d", d.path(), number) }
