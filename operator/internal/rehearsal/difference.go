package rehearsal

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
)

// unexpected returns a sentence for each change that is not one of the expected operations.
func unexpected(changes []Change, expected ...Operation) []string {
	var differences []string
	for _, change := range changes {
		if !slices.Contains(expected, change.Operation) {
			differences = append(differences, fmt.Sprintf("%s %s, which nothing in the inventory asks for", change.Operation, change.Resource))
		}
	}
	return differences
}

// unready returns the names of an inventory's nodes without a Ready Node.
func unready(inv *inventory.Inventory, nodes []Node) []string {
	var names []string
	for _, wanted := range inv.Nodes {
		if !slices.Contains(nodes, Node{Name: wanted.Name, Ready: true}) {
			names = append(names, wanted.Name)
		}
	}
	return names
}

// nodeDifferences returns a sentence for each Node that is not Ready, missing or superfluous.
func nodeDifferences(inv *inventory.Inventory, nodes []Node) []string {
	var differences []string
	for _, name := range unready(inv, nodes) {
		what := "has not joined"
		if slices.Contains(nodes, Node{Name: name}) {
			what = "is not Ready"
		}
		differences = append(differences, fmt.Sprintf("Node %s %s", name, what))
	}
	for _, node := range nodes {
		if !slices.ContainsFunc(inv.Nodes, func(n inventory.Node) bool { return n.Name == node.Name }) {
			differences = append(differences, fmt.Sprintf("Node %s is still there, and not in the inventory", node.Name))
		}
	}
	return differences
}

// machineDifferences returns a sentence for each machine of the inventory that does not run as described, and for each unknown one.
// Templates are not compared.
func machineDifferences(inv *inventory.Inventory, host Host) []string {
	var differences []string
	for _, wanted := range inv.Nodes {
		at := slices.IndexFunc(host.Machines, func(m Machine) bool { return m.VMID == wanted.VMID })
		if at < 0 {
			differences = append(differences, fmt.Sprintf("VM %d (%s) is not on the host", wanted.VMID, wanted.Name))
			continue
		}
		found := host.Machines[at]
		if found.Name != wanted.Name || found.Node != wanted.Host {
			differences = append(differences, fmt.Sprintf("VM %d is %s on %s, not %s on %s", wanted.VMID, found.Name, found.Node, wanted.Name, wanted.Host))
		}
		if !found.Running {
			differences = append(differences, fmt.Sprintf("VM %d (%s) does not run", wanted.VMID, wanted.Name))
		}
	}
	for _, found := range host.Machines {
		known := slices.ContainsFunc(inv.Nodes, func(n inventory.Node) bool { return n.VMID == found.VMID })
		if !known && !found.Template {
			differences = append(differences, fmt.Sprintf("VM %d (%s) is on %s, and not in the inventory", found.VMID, found.Name, found.Node))
		}
	}
	return differences
}

// leftBehind returns a sentence for each addition to a host, except ISO images.
func leftBehind(before, after Host) []string {
	var differences []string
	for _, machine := range after.Machines {
		if !slices.ContainsFunc(before.Machines, func(m Machine) bool { return m.VMID == machine.VMID }) {
			differences = append(differences, fmt.Sprintf("VM %d (%s) is left on %s", machine.VMID, machine.Name, machine.Node))
		}
	}
	for _, file := range after.Files {
		if !file.ISO && !slices.Contains(before.Files, file) {
			differences = append(differences, fmt.Sprintf("%s is left on the host", file.ID))
		}
	}
	return differences
}

// keptISOs returns how many images were left on purpose, for a sentence.
func keptISOs(before, after Host) string {
	count := 0
	for _, file := range after.Files {
		if file.ISO && !slices.Contains(before.Files, file) {
			count++
		}
	}
	switch count {
	case 0:
		return ""
	case 1:
		return ", one ISO image is kept"
	default:
		return fmt.Sprintf(", %d ISO images are kept", count)
	}
}
