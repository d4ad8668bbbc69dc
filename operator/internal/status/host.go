package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// askHost reads from Proxmox VE its guests and the contents of the inventory's storages.
func (s Sources) askHost(ctx context.Context, r *Report) error {
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return fmt.Errorf("virtual machines: %w", err)
	}
	found, err := s.findOn(ctx, guests, r.Time)
	for i := range r.Machines {
		s.findMachine(&r.Machines[i], s.Inventory.Nodes[i].MAC.String(), found)
	}
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

// findMachine adds what the hosts report about a machine: how its virtual machine is and where, or which other guest has its VMID.
func (s Sources) findMachine(machine *Machine, mac string, found Found) {
	machine.VM = absent
	at := slices.IndexFunc(found.Guests, func(g pve.Guest) bool { return g.VMID == machine.VMID })
	if at < 0 {
		return
	}
	guest := found.Guests[at]
	if !s.isMachine(guest, *machine, mac, found) {
		machine.Taken = fmt.Sprintf("%s %d (%s) on %s", guestTypes[guest.Type], guest.VMID, guest.Name, guest.Node)
		return
	}
	machine.VM = guest.Status
	if found.Off[guest.Node] != nil {
		machine.VM = unknown // its last status is shown for some minutes
	}
	if guest.Node != machine.Host {
		machine.On = guest.Node
	}
}

// isMachine reports whether the guest with the VMID of a machine is that machine. If the guest has a mark, only the mark counts: a copy of a stack
// has the same names, VMIDs and MAC addresses. A guest without a mark, which a person may have deleted, is the machine if the state knows it, as
// for the engine (preflight does the same), or if it has the machine's name or MAC address. A guest whose configuration is not known counts as the
// machine, and so does one that is being made, which has none of them yet.
func (s Sources) isMachine(guest pve.Guest, machine Machine, mac string, found Found) bool {
	config, isRead := found.Configs[guest.VMID]
	if guest.Type != pve.TypeVM || !isRead || guest.Lock == "clone" || guest.Lock == "create" {
		return guest.Type == pve.TypeVM
	}
	if owner, isMarked := ownership.In(config["description"]); isMarked {
		return owner == s.Owner
	}
	if machine.Known || guest.Name == machine.Name {
		return true
	}
	for key, value := range config {
		if strings.HasPrefix(key, "net") && mac != "" && strings.Contains(strings.ToUpper(value), strings.ToUpper(mac)) {
			return true
		}
	}
	return false
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
