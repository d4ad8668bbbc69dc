package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
)

// Found is what is on the hosts.
type Found struct {
	// Guests are the guests of all hosts that the token may see.
	Guests []pve.Guest
	// Configs are the configurations of the guests by VMID.
	Configs map[int]pve.GuestConfig
	// Unread are the guests whose configurations are not known, by VMID: an [OffError], or what the host has answered. A guest that was
	// deleted since the list was read is among them.
	Unread map[int]error
	// Volumes are the volumes on the inventory's storages by host; the ones of a shared storage under one of its hosts only.
	Volumes map[string][]pve.Volume
	// Off are the hosts of the cluster that are off.
	Off []string
	// Partial is whether the token may not see all guests, so that those that are missing in Guests may exist.
	Partial bool
	// Time is when it was read.
	Time time.Time
}

// OffError is returned for a guest of a host that is off: Proxmox VE lists it, and passes no call on to its host.
type OffError struct{ Host string }

func (e *OffError) Error() string { return "its host " + e.Host + " is off" }

// findOn reads the configurations of the guests and the contents of the inventory's storages. A configuration that cannot be read is no
// error: any host of the cluster may be off, and most of its guests are not ours.
func (s Sources) findOn(ctx context.Context, guests []pve.Guest, now time.Time) (Found, error) {
	found := Found{Guests: guests, Configs: map[int]pve.GuestConfig{}, Unread: map[int]error{}, Volumes: map[string][]pve.Volume{}, Time: now}
	seesAll, err := s.Host.SeesAllGuests(ctx)
	if err != nil {
		return found, fmt.Errorf("privileges of the token: %w", err)
	}
	found.Partial = !seesAll
	if found.Off, err = s.hostsOff(ctx); err != nil {
		return found, err
	}
	for _, guest := range guests {
		if slices.Contains(found.Off, guest.Node) {
			found.Unread[guest.VMID] = &OffError{guest.Node}
			continue
		}
		if config, err := s.Host.GuestConfig(ctx, guest); err != nil {
			found.Unread[guest.VMID] = err
		} else {
			found.Configs[guest.VMID] = config
		}
	}
	return found, s.readVolumes(ctx, found.Volumes)
}

// hostsOff returns the hosts of the cluster that are off. The status of a guest does not say it: for some minutes Proxmox VE shows the last
// one that its host has sent (pve-manager, PVE/API2Tools.pm, extract_vm_stats and extract_node_stats).
func (s Sources) hostsOff(ctx context.Context) (off []string, err error) {
	nodes, err := s.Host.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	for _, node := range nodes {
		if node.Status == "offline" {
			off = append(off, node.Name)
		}
	}
	return off, nil
}

// readVolumes lists each storage of the inventory on its hosts, a shared one only on the first.
func (s Sources) readVolumes(ctx context.Context, volumes map[string][]pve.Volume) error {
	var shared []string
	for _, host := range s.Inventory.Nodes.Hosts() {
		storages, err := s.Host.Storages(ctx, host)
		if err != nil {
			return fmt.Errorf("storages of %s: %w", host, err)
		}
		for _, storage := range storages {
			if !slices.Contains(s.storageNames(), storage.Name) || slices.Contains(shared, storage.Name) {
				continue
			}
			listed, err := s.Host.Volumes(ctx, host, storage.Name)
			if err != nil {
				return fmt.Errorf("storage %s of %s: %w", storage.Name, host, err)
			}
			volumes[host] = append(volumes[host], listed...)
			if storage.Shared {
				shared = append(shared, storage.Name)
			}
		}
	}
	return nil
}

func (s Sources) storageNames() []string {
	names := []string{s.Inventory.Cluster.Proxmox.ISOStorage, s.Inventory.Cluster.Proxmox.DiskStorage}
	for _, node := range s.Inventory.Nodes {
		names = append(names, node.DiskStorage)
		for _, disk := range node.DataDisks {
			names = append(names, disk.Storage)
		}
	}
	return names
}

func (f Found) has(vmid int) bool {
	return slices.ContainsFunc(f.Guests, func(guest pve.Guest) bool { return guest.VMID == vmid })
}

// names reports whether the configuration of any guest contains a volume.
func (f Found) names(volume string) bool {
	for _, config := range f.Configs {
		for _, value := range config {
			if value == volume || strings.HasPrefix(value, volume+",") {
				return true
			}
		}
	}
	return false
}

// partial is why a list of guests is not complete, and what to do about it.
const partial = "the token does not see all guests; give it VM.Audit on /vms, `em-infra role` prints how"

// unseen returns why the configurations of all guests are not known, in clauses. It is empty if they are.
func (f Found) unseen() string {
	var texts []string
	for _, guest := range f.Guests {
		if err := f.Unread[guest.VMID]; err != nil {
			texts = append(texts, fmt.Sprintf("the configuration of %s %d is not known (%v)", guestTypes[guest.Type], guest.VMID, err))
		}
	}
	if f.Partial {
		texts = append(texts, partial)
	}
	return strings.Join(texts, ", ")
}
