package status

import (
	"context"
	"fmt"

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
	found, err := s.findOn(ctx, guests, r.Time)
	if err != nil {
		return err
	}
	r.Orphans, r.Unclear = s.ours().Orphans(found), s.ours().Unclear(found)
	lost, err := LostISOs(ctx, s.Host, s.Deployment)
	for _, template := range lost {
		r.LostISOs = append(r.LostISOs, pve.ISO{Host: template.Host, Volume: template.ISO})
	}
	return err
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
