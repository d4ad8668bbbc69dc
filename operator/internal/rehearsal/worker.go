package rehearsal

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// workerName is the name of the additional worker.
const workerName = "rehearsal-worker"

// Extended is an inventory with an additional worker.
type Extended struct {
	// Worker is the additional worker.
	Worker inventory.Node
	// Inventory is the complete inventory.
	Inventory *inventory.Inventory
	// Nodes is the text of nodes.yaml.
	Nodes []byte
}

// WithAWorkerMore adds a worker with the defaults of its role. It gets the next free address after the nodes' highest address, and
// the next free VMID after the highest. The same inventory gives the same worker. It returns an error if no address is free.
func WithAWorkerMore(inv *inventory.Inventory) (*Extended, error) {
	address, err := freeAddress(inv, "network.cidr", inv.Cluster.Network.CIDR, func(n inventory.Node) netip.Addr { return n.Address })
	if err != nil {
		return nil, err
	}
	item := fmt.Sprintf("name: %s, role: %s, vmid: %d, address: %q", freeName(inv.Nodes), inventory.RoleWorker, freeVMID(inv), address)
	if network := inv.Cluster.Network.CIDR6; network.IsValid() {
		address6, err := freeAddress(inv, "network.cidr6", network, func(n inventory.Node) netip.Addr { return n.Address6 })
		if err != nil {
			return nil, err
		}
		item += fmt.Sprintf(", address6: %q", address6)
	}
	effective, err := inv.Effective()
	if err != nil {
		return nil, err
	}
	text := fmt.Appendf(effective.Nodes, "  - {%s}\n", item)
	extended, err := inventory.Parse(inv.Dir, effective.Cluster, text)
	if err != nil {
		return nil, fmt.Errorf("the inventory with one worker more: %w", err)
	}
	return &Extended{Worker: extended.Nodes[len(extended.Nodes)-1], Inventory: extended, Nodes: text}, nil
}

func freeName(nodes inventory.Nodes) string {
	for name, number := workerName, 2; ; number++ {
		if !slices.ContainsFunc(nodes, func(n inventory.Node) bool { return n.Name == name }) {
			return name
		}
		name = workerName + "-" + strconv.Itoa(number)
	}
}

func freeVMID(inv *inventory.Inventory) int {
	taken := map[int]bool{inv.Cluster.Proxmox.Template.VMID: true}
	for _, vmid := range inv.Cluster.Proxmox.Template.PerHost {
		taken[vmid] = true
	}
	highest := limits.VMID.Min
	for _, node := range inv.Nodes {
		taken[node.VMID] = true
		highest = max(highest, node.VMID)
	}
	for vmid := highest; ; vmid++ {
		if vmid > limits.VMID.Max {
			vmid = limits.VMID.Min
		}
		if !taken[vmid] {
			return vmid
		}
	}
}

// freeAddress returns the first address of a network after the nodes' addresses that the inventory does not use.
func freeAddress(inv *inventory.Inventory, key string, cidr netip.Prefix, of func(inventory.Node) netip.Addr) (netip.Addr, error) {
	network, endpoint := inv.Cluster.Network, inv.Cluster.Kubernetes.Endpoint
	taken := append([]netip.Addr{network.Gateway, network.Gateway6, endpoint.VIP, cidr.Addr(), last(cidr)}, network.NameserverAddresses()...)
	if host, err := netip.ParseAddr(endpoint.Host); err == nil {
		taken = append(taken, host)
	}
	highest := cidr.Addr()
	for _, node := range inv.Nodes {
		taken = append(taken, of(node))
		if highest.Less(of(node)) {
			highest = of(node)
		}
	}
	if free, found := firstFree(cidr, highest, taken); found {
		return free, nil
	}
	return netip.Addr{}, fmt.Errorf("%s %s has no free address for one worker more: rehearse with a larger network, or a node less", key, cidr)
}

// firstFree returns the first free address of a network after a given one; after the network's end it continues at its beginning.
func firstFree(network netip.Prefix, after netip.Addr, taken []netip.Addr) (netip.Addr, bool) {
	for address := after.Next(); address != after; address = address.Next() {
		if !network.Contains(address) {
			address = network.Addr()
		}
		if address == after {
			break
		}
		if !slices.Contains(taken, address) {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// last returns the last address of a network: the broadcast address of an IPv4 network.
func last(network netip.Prefix) netip.Addr {
	bytes := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}
