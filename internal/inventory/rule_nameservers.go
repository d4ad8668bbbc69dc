package inventory

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// nameservers checks that the nodes can reach each name server, and that none is named twice. [Inventory.Resolve] checks the systems of other stacks.
func (c *checker) nameservers() {
	network := c.inv.Cluster.Network
	at := nameserversPath()
	if len(network.Nameservers) == 0 && network.Gateway.IsValid() && !c.inv.clusterSource.Has(at) {
		c.cluster(at, fault{What: "is missing", Rule: "a link-local gateway is no default for it", Got: network.Gateway.String(), Do: "add it"})
	}
	seen := make(map[Nameserver]bool, len(network.Nameservers))
	for i, server := range network.Nameservers {
		if server == (Nameserver{}) || !c.cidr.IsValid() || !c.inv.clusterSource.Has(at) {
			continue
		}
		problem, wrong := fault{}, false
		if !server.IsSystem() {
			problem, wrong = c.serverAddress(server.Address)
		}
		if !wrong && seen[server] {
			problem, wrong = twice(server.String()), true
		}
		if wrong {
			c.cluster(at.Index(i), problem)
		}
		seen[server] = true
	}
}

// nameserversPath is the place of the nameservers in cluster.yaml.
func nameserversPath() *strictyaml.Path { return key("network", "nameservers") }

// serverAddress returns why the nodes cannot use the address of a server; false if they can.
func (c *checker) serverAddress(server netip.Addr) (problem fault, wrong bool) {
	switch {
	case server.IsUnspecified() || server.IsMulticast() || server.IsLoopback():
		return fault{What: "is no server's address", Got: server.String(), Do: "choose another"}, true
	case server.Is4() && !c.carriesIPv4() || server.Is6() && !c.carriesIPv6():
		return fault{
			What: "is of an IP family that the nodes do not have", Rule: "network.cidr is " + c.cidr.String(),
			Got: server.String(), Do: "choose one of the other family",
		}, true
	default:
		return fault{}, false
	}
}

// asFault returns the fault that an error contains, or else the error unchanged.
func asFault(err error) (*fault, error) {
	if problem := new(fault); errors.As(err, &problem) {
		return problem, nil
	}
	return nil, err
}

func twice(got string) fault {
	return fault{What: "is given twice", Got: got, Do: "remove one of them"}
}

// Systems are the systems of another stack, as far as a cluster can name them.
type Systems interface {
	// AddressesOf returns the static addresses of a system; false if there is none of that name.
	AddressesOf(system string) (addresses []netip.Addr, known bool)
	// Names returns the names of the systems.
	Names() []string
}

// SystemsOf returns the systems of another stack of the project; nil for a stack that is not to be looked at. An error that is a [*strictyaml.Fault]
// is the reason why none of them can be named.
type SystemsOf func(stack string) (Systems, error)

// Resolve finds the addresses of the systems of other stacks that the inventory names. The error is a [*Problems] with everything that
// cannot be found, or the reason why the files of a stack cannot be read.
func (i *Inventory) Resolve(systemsOf SystemsOf) error {
	check := &manifest.Checker{}
	servers := i.Cluster.Network.Nameservers
	seen := make(map[netip.Addr]bool, len(servers))
	for at := range servers {
		problem, err := i.resolve(&servers[at], systemsOf)
		if err != nil {
			return err
		}
		if address := servers[at].Address; problem == nil && address.IsValid() && seen[address] {
			problem = new(twice(address.String()))
		}
		if problem != nil {
			check.At(filepath.Join(i.Dir, ClusterFile), i.clusterSource, nameserversPath().Index(at), *problem)
		}
		seen[servers[at].Address] = true
	}
	return check.Err()
}

// resolve finds the address of a server that is a system of another stack.
func (i *Inventory) resolve(server *Nameserver, systemsOf SystemsOf) (problem *fault, err error) {
	if !server.IsSystem() {
		return nil, nil
	}
	systems, err := systemsOf(server.Stack)
	if problem, err = asFault(err); problem != nil || err != nil || systems == nil {
		return problem, err
	}
	server.Address, problem = i.Cluster.Network.addressOf(*server, systems)
	return problem, nil
}

// addressOf returns the address by which the nodes reach a system: the first that is in a network of theirs, or else the first of an IP
// family that they have.
func (n Network) addressOf(server Nameserver, systems Systems) (netip.Addr, *fault) {
	addresses, known := systems.AddressesOf(server.System)
	if !known {
		problem := &fault{
			What: "names a system that stack " + server.Stack + " does not have", Got: server.String(), Do: "name one of its systems, or write the address of the server",
		}
		if near := strictyaml.Nearest(server.System, systems.Names()); near != "" {
			problem.Do = "did you mean " + Nameserver{Stack: server.Stack, System: near}.String() + "?"
		}
		return netip.Addr{}, problem
	}
	if len(addresses) == 0 {
		return netip.Addr{}, &fault{
			What: "names a system without a static address", Rule: "the nodes know a server by an address that stays", Got: server.String(),
			Do: "write the address of the server here, or give the system a static one in the systems.yaml of stack " + server.Stack,
		}
	}
	subnets := n.Subnets()
	for _, fits := range []func(netip.Prefix, netip.Addr) bool{netip.Prefix.Contains, ofTheFamily} {
		at := slices.IndexFunc(addresses, func(address netip.Addr) bool {
			return slices.ContainsFunc(subnets, func(subnet netip.Prefix) bool { return fits(subnet, address) })
		})
		if at >= 0 {
			return addresses[at], nil
		}
	}
	return netip.Addr{}, &fault{
		What: "names a system without an address of an IP family that the nodes have", Rule: "network.cidr is " + n.CIDR.String(), Got: server.String(),
		Do: "give it one in the systems.yaml of stack " + server.Stack + ", or name another server",
	}
}

func ofTheFamily(subnet netip.Prefix, address netip.Addr) bool {
	return subnet.Addr().Is4() == address.Is4()
}
