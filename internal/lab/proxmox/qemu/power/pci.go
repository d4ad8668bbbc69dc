package power

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// resolvePCI returns the devices of a hostpci setting, in addition to those that the VM already has (qemu-server
// QemuServer/PCI.pm, parse_hostpci and choose_hostpci_devices). Of several alternatives it takes the first free one. A single
// one is taken even if another VM uses it; the start then fails.
func (s *Service) resolvePCI(m *config.VM, key string, device schema.Properties, taken []string) ([]string, error) {
	if device["pcie"] == "1" && !strings.Contains(m.Config.Get("machine"), "q35") {
		return nil, fmt.Errorf("q35 machine model is not enabled at /usr/share/perl5/PVE/QemuServer/PCI.pm")
	}

	alternatives, err := s.alternatives(m, device)
	if err != nil {
		return nil, err
	}

	isTaken := func(address string) bool { return slices.Contains(taken, address) }

	if len(alternatives) == 1 {
		if i := slices.IndexFunc(alternatives[0], isTaken); i >= 0 {
			return nil, fmt.Errorf("device '%s' assigned more than once", alternatives[0][i])
		}

		return alternatives[0], nil
	}

	for _, found := range alternatives {
		if !slices.ContainsFunc(found, isTaken) && !s.processes.InUse(m.ID, m.Node, found) {
			return found, nil
		}
	}

	return nil, fmt.Errorf("could not find a free device for '%s'", key)
}

// alternatives returns the sets of devices that a hostpci setting can mean.
func (s *Service) alternatives(m *config.VM, device schema.Properties) ([][]string, error) {
	paths := []string{device["host"]}

	if name := device["mapping"]; name != "" {
		mapped, err := s.mappings.PCIPaths(name, m.Node)
		if err != nil {
			return nil, err
		}

		paths = mapped
	}

	host, _ := s.env.Nodes.Host(m.Node)
	found := make([][]string, len(paths))

	for i, path := range paths {
		var err error
		if found[i], err = host.DevicesAt(path); err != nil {
			return nil, err
		}
	}

	return found, nil
}
