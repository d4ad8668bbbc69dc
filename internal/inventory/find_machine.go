package inventory

import (
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// FindVMID returns the VMID of the machine that is named by its node's name or by its VMID. A VMID need not belong to a node.
func (i *Inventory) FindVMID(machine string) (int, error) {
	if vmid, err := strconv.Atoi(machine); err == nil && vmid > 0 {
		return vmid, nil
	}
	names := make([]string, len(i.Nodes))
	for at, node := range i.Nodes {
		if node.Name == machine {
			return node.VMID, nil
		}
		names[at] = node.Name
	}
	do := "choose one of its nodes, or a VMID"
	if near := strictyaml.Nearest(machine, names); near != "" {
		do = "did you mean " + near + "?"
	}
	return 0, fmt.Errorf("the inventory has no node %q: %s", machine, do)
}
