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
	// Unread are the guests whose configurations are not known, by VMID: an [OffError], or what the host has answered.
	Unread map[int]error
	// Volumes are the volumes on the inventory's storages by host; the ones of a shared storage under one of its hosts only.
	Volumes map[string][]pve.Volume
	// Off are the hosts that are off, or were removed from the cluster.
	Off map[string]*OffError
	// Partial is whether the token may not see all guests, so that those that are missing in Guests may exist.
	Partial bool
	// Time is when it was read.
	Time time.Time
}

// findOn reads the configurations of the guests and the contents of the inventory's storages.
func (s Sources) findOn(ctx context.Context, guests []pve.Guest, now time.Time) (Found, error) {
	found := Found{Guests: guests, Configs: map[int]pve.GuestConfig{}, Unread: map[int]error{}, Volumes: map[string][]pve.Volume{}, Time: now}
	seesAll, err := s.Host.SeesAllGuests(ctx)
	if err != nil {
		return found, fmt.Errorf("privileges of the token: %w", err)
	}
	found.Partial = !seesAll
	if found.Off, err = hostsOff(ctx, s.Host, guests); err != nil {
		return found, err
	}
	if err := s.readConfigs(ctx, &found); err != nil {
		return found, err
	}
	return found, s.readVolumes(ctx, found.Volumes)
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
	texts := f.unread(func(pve.Guest) bool { return true })
	if f.Partial {
		texts = append(texts, partial)
	}
	return strings.Join(texts, ", ")
}
