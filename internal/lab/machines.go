package lab

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// machines connects the host's VMs to what runs inside them: the fleet boots Talos, other systems have only their power.
type machines struct {
	fleet        *talos.Fleet
	foreign      *foreignGuests
	reservations reservations
	log          *slog.Logger
}

var _ proxmox.Machines = machines{}

func (m machines) PowerOn(ctx context.Context, machine proxmox.Machine) error {
	if bootsOtherSystem(machine) {
		m.foreign.powerOn(machine.VMID)
		return nil
	}
	guest := guestHardware(machine)
	macs := make([]net.HardwareAddr, len(guest.NICs))
	for i, nic := range guest.NICs {
		macs[i] = nic.MAC
	}
	var err error
	if guest.Leases, err = m.reservations.leases(macs); err != nil {
		m.report(machine.VMID, err) // a failed DHCP server does not prevent a start
	}
	return m.fleet.PowerOn(ctx, guest)
}

// PowerOff has no error for the host, because a VM can always be switched off. An error of the emulation is only logged.
func (m machines) PowerOff(vmid int) {
	if !m.foreign.powerOff(vmid) {
		m.report(vmid, m.fleet.PowerOff(vmid))
	}
}

func (m machines) Shutdown(ctx context.Context, vmid int) error {
	if m.foreign.powerOff(vmid) {
		return nil
	}
	return m.fleet.Shutdown(ctx, vmid)
}

// AskAgent returns what Talos' extension reports: the interfaces of the host's network namespace.
func (m machines) AskAgent(vmid int) (proxmox.Guest, bool) {
	info, answers := m.fleet.AskAgent(vmid)
	guest := proxmox.Guest{
		Hostname: info.Hostname, KernelRelease: info.KernelRelease, KernelVersion: info.KernelVersion, Machine: info.Machine,
	}
	for _, link := range info.Links {
		guest.Interfaces = append(guest.Interfaces, proxmox.GuestInterface(link))
	}
	return guest, answers
}

func (m machines) ShutdownByAgent(ctx context.Context, vmid int) error {
	return m.fleet.ShutdownByAgent(ctx, vmid)
}

func (m machines) Destroy(vmid int) { m.report(vmid, m.fleet.Destroy(vmid)) }

// ChangeDisks passes new or larger disks to the guest.
func (m machines) ChangeDisks(vmid int, disks []proxmox.Disk) {
	m.report(vmid, m.fleet.ChangeDisks(vmid, guestDisks(disks)))
}

func (m machines) SnapshotDisks(vmid int, disks []string, name string) {
	m.report(vmid, m.fleet.SnapshotDisks(disks, name))
}

func (m machines) RollbackDisks(vmid int, disks []string, name string) {
	m.report(vmid, m.fleet.RollbackDisks(disks, name))
}

func (m machines) DropDiskSnapshots(vmid int, disks []string, name string) {
	m.report(vmid, m.fleet.DropDiskSnapshots(disks, name))
}

func (m machines) report(vmid int, err error) {
	if err != nil {
		m.log.Error("emulated node", "vmid", vmid, "error", err)
	}
}

// guestHardware returns a VM as its guest sees it.
func guestHardware(m proxmox.Machine) talos.Hardware {
	h := talos.Hardware{
		VMID:      m.VMID,
		Name:      m.Name,
		UUID:      m.UUID,
		CPUs:      m.CPUs,
		MemoryMiB: m.MemoryMiB,
		Disks:     guestDisks(m.Disks),
		SCSI:      talos.SCSIController(m.SCSI),
		BootOrder: m.BootsFrom,
		ISO:       m.ISO,
		ISODrive:  m.ISODrive,
		AgentPort: m.Agent,
	}
	for _, device := range m.PCI {
		h.PCI = append(h.PCI, talos.PCIDevice{Address: device.Address, Class: device.Class, Vendor: device.Vendor, Device: device.Device})
	}
	for _, nic := range m.NICs {
		h.NICs = append(h.NICs, talos.NIC{MAC: nic.MAC})
	}
	if m.CloudInit != nil {
		h.CloudInit = cloudInit(*m.CloudInit)
		for i := range min(len(h.NICs), len(m.CloudInit.NICs)) {
			h.NICs[i].Seeded = m.CloudInit.NICs[i].Addresses
		}
	}
	return h
}

func guestDisks(disks []proxmox.Disk) []talos.Disk {
	guest := make([]talos.Disk, len(disks))
	for i, disk := range disks {
		bus := strings.TrimRight(disk.Slot, "0123456789")
		number, _ := strconv.Atoi(disk.Slot[len(bus):]) // a slot ends with digits
		guest[i] = talos.Disk{
			ID: disk.ID, Bus: talos.Bus(bus), Slot: number, Bytes: disk.Bytes,
			Serial: disk.Serial, DeviceID: disk.DeviceID, Rotational: !disk.SSD,
		}
	}
	return guest
}

func cloudInit(c proxmox.CloudInit) talos.CloudInit {
	seed := talos.CloudInit{Hostname: c.Hostname, Nameservers: c.Nameservers}
	for _, nic := range c.NICs {
		seed.Addresses = append(seed.Addresses, nic.Addresses...)
		for _, gateway := range nic.Gateways {
			if gateway.Is4() {
				seed.Gateway = gateway
			}
		}
	}
	return seed
}
