package inventory

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
)

// CheckBeside checks an inventory against another one whose machines may be on the same Proxmox VE: a copy with the same VMIDs
// and addresses would adopt the other's machines. Two inventories without a common host are treated as two sites, which may use
// the same numbers. The error is a [*Problems].
func (i *Inventory) CheckBeside(name string, other *Inventory) error {
	if !sharesHost(i.Nodes.Hosts(), other.Nodes.Hosts()) {
		return nil
	}
	c := &checker{inv: i, clusterFile: filepath.Join(i.Dir, ClusterFile), nodesFile: filepath.Join(i.Dir, NodesFile)}
	vmids, addresses := other.claims()
	beside := func(what, got, do string) fault {
		return fault{What: "is " + what + " of stack " + name + " too", Rule: "both stacks stand on the same host", Got: got, Do: do}
	}
	if vip := i.Cluster.Kubernetes.Endpoint.VIP; vip.IsValid() && addresses[vip] != "" {
		c.cluster(key("kubernetes", "endpoint", "vip"), beside(addresses[vip], vip.String(), "choose a free address"))
	}
	if template := i.Cluster.Proxmox.Template.VMID; vmids[template] != "" {
		c.cluster(key("proxmox", "template", "vmid"), beside(vmids[template], fmt.Sprint(template), anotherVMID))
	}
	for at, node := range i.Nodes {
		if owner := vmids[node.VMID]; owner != "" {
			c.node(nodePath(at).Key("vmid"), beside(owner, fmt.Sprint(node.VMID), anotherVMID))
		}
		for _, card := range []struct {
			key  string
			addr netip.Addr
		}{{"address", node.Address}, {"address6", node.Address6}} {
			if owner := addresses[card.addr]; card.addr.IsValid() && owner != "" {
				c.node(nodePath(at).Key(card.key), beside(owner, card.addr.String(), "choose a free address"))
			}
		}
	}
	if len(c.problems) == 0 {
		return nil
	}
	c.problems.sort()
	return &c.problems
}

func sharesHost(some, others []string) bool {
	return slices.ContainsFunc(some, func(host string) bool { return slices.Contains(others, host) })
}

// claims returns the owners of VMIDs and addresses of the machines and the API. A template may be shared.
func (i *Inventory) claims() (vmids map[int]string, addresses map[netip.Addr]string) {
	vmids, addresses = map[int]string{}, map[netip.Addr]string{}
	if vip := i.Cluster.Kubernetes.Endpoint.VIP; vip.IsValid() {
		addresses[vip] = "the address of the Kubernetes API (its vip)"
	}
	for _, node := range i.Nodes {
		vmids[node.VMID] = "the VMID of " + node.Name
		for _, addr := range []netip.Addr{node.Address, node.Address6} {
			if addr.IsValid() {
				addresses[addr] = "the address of " + node.Name
			}
		}
	}
	return vmids, addresses
}
