package inventory

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Beside is the inventory of another stack of the project.
type Beside struct {
	// Stack is its name. Required.
	Stack string
	// Inventory of the stack. Required.
	Inventory *Inventory
	// SameEndpoint is whether both stacks name the same endpoint of Proxmox VE. Default: false; their inventories are compared only if they
	// have a host in common, since two sites may use the same numbers.
	SameEndpoint bool
}

// CheckBeside checks an inventory against another one whose machines may be in the same Proxmox VE: a copy with the same VMIDs
// and addresses would adopt the other's machines. They share no VMID, address, MAC address, name and GPU, and no VLAN with different
// networks. The error is a [*Problems].
func (i *Inventory) CheckBeside(other Beside) error {
	rule := "both stacks stand on the same host"
	if !sharesHost(i.Nodes.Hosts(), other.Inventory.Nodes.Hosts()) {
		if !other.SameEndpoint {
			return nil
		}
		rule = "both stacks are in the same Proxmox VE"
	}
	c := &checker{inv: i, clusterFile: filepath.Join(i.Dir, ClusterFile), nodesFile: filepath.Join(i.Dir, NodesFile)}
	taken := map[claimID]string{}
	for _, claim := range other.Inventory.claims() {
		taken[claim.id] = claim.owner
	}
	report := func(mine claim) {
		derived := mine.id.kind == claimedMAC && !i.nodesSource.Has(mine.at) // from the VMID and the cluster's name, which are reported
		if owner := taken[mine.id]; owner != "" && !derived {
			c.in(mine.file)(mine.at, fault{What: "is " + owner + " of stack " + other.Stack + " too", Rule: rule, Got: mine.value, Do: mine.do})
		}
	}
	template := strconv.Itoa(i.Cluster.Proxmox.Template.VMID)
	report(claim{
		id: claimID{kind: claimedVMID, value: template}, value: template, do: anotherVMID,
		file: ClusterFile, at: key("proxmox", "template", "vmid"),
	})
	for _, mine := range i.claims() {
		report(mine)
	}
	if fault, wrong := i.claimsNetwork(other.Stack, other.Inventory); wrong {
		c.cluster(key("network", "vlan"), fault)
	}
	return c.Err()
}

// in returns the report of one of the files.
func (c *checker) in(file string) report {
	if file == ClusterFile {
		return c.cluster
	}
	return c.node
}

func sharesHost(some, others []string) bool {
	return slices.ContainsFunc(some, func(host string) bool { return slices.Contains(others, host) })
}
