package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostsSubject is the subject of the checks of a stack that configures hosts.
type HostsSubject struct {
	// Inventory describes how the hosts are configured.
	Inventory *hosts.Inventory
	// Networks are what the inventory wants of the networks of its hosts.
	Networks []hostspec.Network
	// Storages are what the inventory wants of the storages.
	Storages []hostspec.Storage
	// Access is the change of the access control that the inventory asks for.
	Access pve.AccessRun
	// Tokens are the changes of tokens.
	Tokens []pve.HostTokenRun
	// Settings are the changes of what hosts always have, Options that of the options of the cluster, and Definitions are the changes of metric
	// servers and backup jobs.
	Settings    []pve.HostSettingsRun
	Options     pve.OptionsRun
	Definitions []pve.DefinitionRun
	// Allowed are interfaces that may be changed although the API is reached by them, as HOST/INTERFACE.
	Allowed []string
	// Host is the connection to Proxmox VE.
	Host pve.Connection
}

// Hosts gathers the facts about hosts that are to be configured, and checks them. Facts that cannot be read are failed checks; the error is
// the context's.
func Hosts(ctx context.Context, subject HostsSubject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s collector
	reader, err := pve.NewReader(subject.Host)
	if err != nil {
		s.unread("host", "Proxmox VE", err)
		return s.checks, nil
	}
	if s.hostsOnline(bounded, reader, subject.Inventory.Hosts(), "correct hosts in hosts.yaml, or join the host to the cluster") {
		s.networks(bounded, subject)
		s.storages(bounded, subject)
		s.mappedDevices(bounded, reader, subject.Inventory)
		s.access(bounded, subject)
		s.tokens(bounded, subject)
		s.settings(bounded, subject)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.checks, nil
}

// networks checks that the network of each host can be changed as the inventory wants it.
func (s *collector) networks(ctx context.Context, subject HostsSubject) {
	for _, wanted := range subject.Networks {
		plan, err := pve.NetworkRun{Connection: subject.Host, Wanted: wanted, Allowed: subject.Allowed, Say: func(string) {}}.Foresee(ctx)
		switch {
		case err != nil:
			s.fail("network", "", "%v", err)
		case plan.IsEmpty():
			s.ok("network", "the network of %s has what the inventory wants", wanted.Node)
		default:
			s.ok("network", "the network of %s can be changed: %s", wanted.Node, plan)
		}
	}
}

// storages checks that each storage can be defined as the inventory wants it.
func (s *collector) storages(ctx context.Context, subject HostsSubject) {
	for _, wanted := range subject.Storages {
		foreseen, err := pve.StorageRun{Connection: subject.Host, Wanted: wanted}.Foresee(ctx)
		if err != nil {
			s.fail("storage", "", "%v", err)
			continue
		}
		s.ok("storage", "%s", foreseen)
	}
}

// access checks that the access control can be changed as the inventory wants it, without a privilege less for the token.
func (s *collector) access(ctx context.Context, subject HostsSubject) {
	if subject.Access.Wanted.IsEmpty() && len(subject.Access.Made) == 0 {
		return
	}
	changes, err := subject.Access.Foresee(ctx)
	switch {
	case err != nil:
		s.fail("access", "", "%v", err)
	case len(changes) == 0:
		s.ok("access", "roles, groups, users and permissions are as the inventory wants them")
	default:
		s.ok("access", "roles, groups, users and permissions can be changed: %s", strings.Join(changes, "; "))
	}
}

// tokens checks that each token can be made or changed.
func (s *collector) tokens(ctx context.Context, subject HostsSubject) {
	for _, run := range subject.Tokens {
		changes, err := run.Foresee(ctx)
		switch {
		case err != nil:
			s.fail("token", "", "%v", err)
		case len(changes) == 0:
			s.ok("token", "the token %s is as the inventory wants it", run.Wanted.ID)
		default:
			s.ok("token", "%s", strings.Join(changes, "; "))
		}
	}
}

// mappedDevices checks that the devices of the mappings are on their hosts, with the facts that Proxmox VE compares when a machine starts.
func (s *collector) mappedDevices(ctx context.Context, reader pve.Reader, inv *hosts.Inventory) {
	for _, mapping := range inv.File.Mappings {
		mark := len(s.checks)
		for _, wanted := range mapping.Devices {
			devices, err := reader.PCIDevices(ctx, wanted.Host)
			if err != nil {
				s.unread("mapping", "the PCI devices of "+wanted.Host, err)
				return
			}
			device, there := deviceAt(devices, string(wanted.BDF))
			facts := differs(inventory.GPU{DeviceID: wanted.DeviceID, SubsystemID: wanted.SubsystemID, IOMMUGroup: &wanted.IOMMUGroup}, device)
			switch {
			case !there:
				s.fail("mapping", fmt.Sprintf("look with `lspci -Dnn` on %s", wanted.Host), "PCI %s of the mapping %s is not on %s", wanted.BDF, mapping.Name, wanted.Host)
			case device.IOMMUGroup < 0:
				s.iommuOff("mapping", wanted.Host, device)
			case len(facts) > 0:
				s.fail("mapping", fmt.Sprintf("write deviceId: %s, subsystemId: %s, iommuGroup: %d", deviceID(device), subsystemID(device), device.IOMMUGroup),
					"PCI %s on %s has %s", wanted.BDF, wanted.Host, strings.Join(facts, " and "))
			}
		}
		if s.sound(mark) {
			s.ok("mapping", "the hosts have the devices of the mapping %s", mapping.Name)
		}
	}
}
