package qemu

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

func badRootOption(name string) error {
	return schema.BadParam(name, "Only root may use this option.")
}

// machine puts the hardware together that QEMU would show the guest (QemuServer.pm, config_to_command).
func (s *Service) machine(m *vm) (Machine, error) {
	machine := Machine{
		VMID: m.ID, Name: m.Config.Get("name"), Host: m.Node, CPUs: m.Config.CPUs(),
		MemoryMiB: m.Config.MemoryMiB(), BootsFrom: m.Config.BootOrder(),
		SCSI: cmp.Or(m.Config.Get("scsihw"), "lsi"), Agent: s.agentEnabled(m),
	}

	if err := s.addDrives(m, &machine); err != nil {
		return Machine{}, err
	}

	if err := s.addCards(m, &machine); err != nil {
		return Machine{}, err
	}

	if err := s.addCloudInit(m, &machine); err != nil {
		return Machine{}, err
	}

	return machine, s.addDevices(m, &machine)
}

func (s *Service) addDrives(m *vm, machine *Machine) error {
	drives, err := s.drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.Storage() == "" {
			continue
		}

		v, err := s.storages.Volume(m.Node, drive.Volume())
		if err != nil {
			return err
		}

		switch {
		case v.Content == storage.ISO:
			machine.ISO, machine.ISODrive = v.ID, drive.Key
		case !drive.CDROM() && drive.Key != "efidisk0" && drive.Key != "tpmstate0":
			machine.Disks = append(machine.Disks, Disk{
				Slot: drive.Key, ID: v.Identity, Bytes: v.Size,
				Serial: drive.Options["serial"], DeviceID: s.deviceID(m, drive), SSD: drive.Options["ssd"] == "1",
			})
		}
	}

	return nil
}

// pinnedMachine is a machine type that is held at a version, such as pc-q35-9.2+pve1.
var pinnedMachine = regexp.MustCompile(`-(\d+)\.\d+(?:\+pve\d+)?$`)

// deviceID is what Proxmox VE 9 tells QEMU to call a SCSI disk, from machine version 10.0 on, which is what it takes where
// none is pinned; 8 tells nothing (qemu-server, DriveDevice.pm, print_drivedevice_full; stable-bookworm, QemuServer.pm).
func (s settings) deviceID(m *vm, drive *vmconfig.Drive) string {
	const firstMachine = 10

	if s.env.Release == schema.Release84 || !strings.HasPrefix(drive.Key, "scsi") {
		return ""
	}

	machineType, _, _ := strings.Cut(m.Config.Get("machine"), ",")
	if pinned := pinnedMachine.FindStringSubmatch(machineType); pinned != nil {
		if version, err := strconv.Atoi(pinned[1]); err != nil || version < firstMachine {
			return ""
		}
	}

	return "drive-" + drive.Key
}

// tellDisks shows a running guest the disks that its VM has now.
func (s *Service) tellDisks(m *vm) {
	if !m.Running {
		return
	}

	var machine Machine
	if err := s.addDrives(m, &machine); err != nil {
		s.env.Note(fmt.Sprintf("VM %d keeps its former disks", m.ID), err)

		return
	}

	s.machines.ChangeDisks(m.ID, machine.Disks)
}

func (s *Service) addCards(m *vm, machine *Machine) error {
	for _, key := range m.Config.NetworkKeys() {
		card, err := vmconfig.ParseCard(m.Config.Get(key), s.fields(key))
		if err != nil {
			return fmt.Errorf("unable to parse network device '%s'", key)
		}

		mac, err := card.MAC()
		if err != nil {
			return fmt.Errorf("unable to parse network device '%s'", key)
		}

		if bridge := card.Bridge(); bridge != "" && !s.network.IsBridge(m.Node, bridge) {
			return fmt.Errorf("bridge '%s' does not exist", bridge)
		}

		machine.NICs = append(machine.NICs, NIC{MAC: mac, Bridge: card.Bridge()})
	}

	return nil
}

func (s *Service) addCloudInit(m *vm, machine *Machine) error {
	if !m.Config.HasCloudInit() {
		return nil
	}

	read, err := m.Config.CloudInit()
	if err != nil {
		return err
	}

	ci := &CloudInit{Hostname: read.Hostname, Nameservers: read.Nameservers}
	for _, card := range read.Cards {
		ci.NICs = append(ci.NICs, CloudInitNIC(card))
	}

	machine.CloudInit = ci

	return nil
}

// addDevices resolves the PCI devices that are passed through.
func (s *Service) addDevices(m *vm, machine *Machine) error {
	for _, key := range m.Config.Keys() {
		if !hostpciKey.MatchString(key) {
			continue
		}

		device, err := schema.ParseProperties(s.fields(key), m.Config.Get(key))
		if err != nil {
			return fmt.Errorf("unable to parse '%s'", key)
		}

		addresses, err := s.resolvePCI(m, key, device, machine.addresses())
		if err != nil {
			return err
		}

		host, _ := s.env.Nodes.Host(m.Node)
		for _, d := range host.PCI {
			if slices.Contains(addresses, d.Address) {
				machine.PCI = append(machine.PCI, d)
			}
		}
	}

	return nil
}

// claim takes the memory and the devices of the host for a machine that is about to start.
func (s *Service) claim(w *task.Worker, m *vm, machine Machine) error {
	host, _ := s.env.Nodes.Host(m.Node)
	used := 0

	for _, other := range s.sorted() {
		if other.ID == m.ID || other.Node != m.Node {
			continue
		}

		used += other.Memory

		for _, address := range other.PCI {
			if slices.Contains(machine.addresses(), address) {
				return fmt.Errorf("PCI device '%s' already in use by VMID '%d'", address, other.ID)
			}
		}
	}

	if used+machine.MemoryMiB > host.MemoryMiB {
		w.Print("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")
		return ErrQEMU
	}

	m.Memory, m.PCI = machine.MemoryMiB, machine.addresses()

	return nil
}
