package status

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
)

// askHost reads from Proxmox VE its guests and the contents of the inventory's storages.
func (s Sources) askHost(ctx context.Context, r *Report) error {
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return fmt.Errorf("virtual machines: %w", err)
	}
	for i := range r.Machines {
		r.Machines[i].VM = statusOf(guests, r.Machines[i].VMID)
	}
	found, err := s.findOn(ctx, guests)
	if err != nil {
		return err
	}
	r.Orphans = s.ours().Orphans(found)
	lost, err := LostISOs(ctx, s.Host, s.Deployment)
	for _, template := range lost {
		r.LostISOs = append(r.LostISOs, pve.ISO{Host: template.Host, Volume: template.ISO})
	}
	return err
}

// findOn reads the configurations of the guests and the contents of the inventory's storages.
func (s Sources) findOn(ctx context.Context, guests []pve.Guest) (Found, error) {
	found := Found{Guests: guests, Configs: map[int]pve.GuestConfig{}, Volumes: map[string][]pve.Volume{}}
	for _, guest := range guests {
		config, err := s.Host.GuestConfig(ctx, guest)
		if err != nil {
			return found, fmt.Errorf("configuration of VM %d: %w", guest.VMID, err)
		}
		found.Configs[guest.VMID] = config
	}
	return found, s.readVolumes(ctx, found.Volumes)
}

func statusOf(guests []pve.Guest, vmid int) string {
	for _, guest := range guests {
		if guest.VMID == vmid {
			return guest.Status
		}
	}
	return absent
}

func (s Sources) ours() Ours {
	c := s.Inventory.Cluster
	ours := Ours{Owner: s.Owner, VMIDs: state.VMIDs(s.Deployment), Named: map[int]string{}, ISO: isos(s.Deployment)}
	for _, node := range s.Inventory.Nodes {
		ours.Named[node.VMID] = node.Name
	}
	for _, host := range s.Inventory.Nodes.Hosts() {
		ours.Named[c.TemplateVMID(host)] = c.TemplateName()
	}
	return ours
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
