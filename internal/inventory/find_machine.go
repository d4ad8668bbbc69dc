package inventory

import (
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// FindVMID returns the VMID of a machine, given the name of its node or its VMID. A given VMID need not belong to a node.
func (i *Inventory) FindVMID(machine string) (int, error) {
	return FindVMID(machine, "node", i.GuestNames(), func(at int) int { return i.Nodes[at].VMID })
}

// GuestNames returns the names of the nodes, in the order of the inventory.
func (i *Inventory) GuestNames() []string {
	names := make([]string, len(i.Nodes))
	for at, node := range i.Nodes {
		names[at] = node.Name
	}
	return names
}

// FindVMID returns the VMID of a guest, given its VMID or its name, which is one of names. A given VMID need not belong to one of them. The noun is
// the kind of guest, for the error.
func FindVMID(guest, noun string, names []string, vmidOf func(at int) int) (int, error) {
	if vmid, err := strconv.Atoi(guest); err == nil && vmid > 0 {
		return vmid, nil
	}
	for at, name := range names {
		if name == guest {
			return vmidOf(at), nil
		}
	}
	do := "choose one of its " + noun + "s, or a VMID"
	if near := strictyaml.Nearest(guest, names); near != "" {
		do = "did you mean " + near + "?"
	}
	return 0, fmt.Errorf("the inventory has no %s %q: %s", noun, guest, do)
}
