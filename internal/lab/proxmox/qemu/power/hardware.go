package power

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// hardware returns the virtual hardware that QEMU would provide (QemuServer.pm, config_to_command).
func (s *Service) hardware(m *config.VM) (machine.Machine, error) {
	shown := machine.Machine{
		VMID: m.ID, Name: m.Config.Get("name"), Host: m.Node, CPUs: m.Config.CPUs(),
		MemoryMiB: m.Config.MemoryMiB(), BootsFrom: m.Config.BootOrder(),
		SCSI: cmp.Or(m.Config.Get("scsihw"), "lsi"), Agent: s.settings.AgentEnabled(m.Config),
	}
	if text := m.Config.Get("smbios1"); text != "" {
		firmware, err := schema.ParseProperties(s.settings.Fields("smbios1"), text)
		if err != nil {
			return machine.Machine{}, fmt.Errorf("unable to parse smbios1 '%s'", text)
		}
		shown.UUID = firmware["uuid"]
	}

	if err := s.disks.Attach(m, &shown); err != nil {
		return machine.Machine{}, err
	}

	if err := s.addCards(m, &shown); err != nil {
		return machine.Machine{}, err
	}

	if err := s.addCloudInit(m, &shown); err != nil {
		return machine.Machine{}, err
	}

	return shown, s.addDevices(m, &shown)
}

func (s *Service) addCards(m *config.VM, shown *machine.Machine) error {
	for _, key := range m.Config.NetworkKeys() {
		card, err := vmconfig.ParseCard(m.Config.Get(key), s.settings.Fields(key))
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

		shown.NICs = append(shown.NICs, machine.NIC{MAC: mac, Bridge: card.Bridge()})
	}

	return nil
}

func (s *Service) addCloudInit(m *config.VM, shown *machine.Machine) error {
	if !m.Config.HasCloudInit() {
		return nil
	}

	read, err := m.Config.CloudInit()
	if err != nil {
		return err
	}

	ci := &machine.CloudInit{Hostname: read.Hostname, Nameservers: read.Nameservers}
	for _, card := range read.Cards {
		ci.NICs = append(ci.NICs, machine.CloudInitNIC(card))
	}

	shown.CloudInit = ci

	return nil
}

// addDevices resolves the passed-through PCI devices.
func (s *Service) addDevices(m *config.VM, shown *machine.Machine) error {
	for _, key := range m.Config.Keys() {
		if !settings.IsPCI(key) {
			continue
		}

		device, err := schema.ParseProperties(s.settings.Fields(key), m.Config.Get(key))
		if err != nil {
			return fmt.Errorf("unable to parse '%s'", key)
		}

		addresses, err := s.resolvePCI(m, key, device, shown.Addresses())
		if err != nil {
			return err
		}

		host, _ := s.env.Nodes.Host(m.Node)
		for _, d := range host.PCI {
			if slices.Contains(addresses, d.Address) {
				shown.PCI = append(shown.PCI, d)
			}
		}
	}

	return nil
}

// claim reserves the memory and the devices of the host for a machine that is about to start.
func (s *Service) claim(w *task.Worker, m *config.VM, shown machine.Machine) error {
	node, _ := s.env.Nodes.Host(m.Node)
	wanted := process.Claim{Node: m.Node, MemoryMiB: shown.MemoryMiB, PCI: shown.Addresses()}

	err := s.processes.Begin(m.ID, wanted, node.MemoryMiB)
	if errors.Is(err, process.ErrNoMemory) {
		w.Print("%s", err)
		return ErrQEMU
	}

	return err
}
