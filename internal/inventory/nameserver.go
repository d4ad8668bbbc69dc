package inventory

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Nameserver answers DNS queries: an IP address, or STACK/SYSTEM for a system of another stack of the project.
type Nameserver struct {
	// Address of the server. That of a system is known once [Inventory.Resolve] has found it.
	Address netip.Addr
	// Stack and System name a system of another stack. Default: empty, the file has the address itself.
	Stack, System string
}

// IsSystem reports whether it is a system of another stack.
func (n Nameserver) IsSystem() bool { return n.Stack != "" }

// String returns it as it is in the file.
func (n Nameserver) String() string {
	if n.IsSystem() {
		return n.Stack + "/" + n.System
	}
	return n.Address.String()
}

// MarshalText implements [encoding.TextMarshaler].
func (n Nameserver) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads an address or STACK/SYSTEM.
func (n *Nameserver) UnmarshalText(text []byte) error {
	written := string(text)
	if prefix, err := netip.ParsePrefix(written); err == nil {
		return &strictyaml.Fault{What: "is an address with a prefix length", Rule: "a server has an address", Do: "write " + prefix.Addr().String()}
	}
	if addr, err := netip.ParseAddr(written); err == nil {
		if fault := strictyaml.CheckAddr(addr); fault != nil {
			return fault
		}
		*n = Nameserver{Address: addr}
		return nil
	}
	stack, system, _ := strings.Cut(written, "/")
	if stack == "" || len(validation.IsDNS1123Label(system)) > 0 {
		return &strictyaml.Fault{
			What: "is neither an IP address nor STACK/SYSTEM", Rule: "a server is named by its address, or as a system of another stack",
			Do: "write one like 192.168.20.11, fd00:20::11 or site-systems/pihole",
		}
	}
	*n = Nameserver{Stack: stack, System: system}
	return nil
}

// NameserverAddresses returns the addresses of the nameservers. Those of systems are missing before [Inventory.Resolve].
func (n Network) NameserverAddresses() []netip.Addr {
	var addresses []netip.Addr
	for _, server := range n.Nameservers {
		if server.Address.IsValid() {
			addresses = append(addresses, server.Address)
		}
	}
	return addresses
}

// NamedSystems returns the nameservers that are systems of other stacks, in the order of the file.
func (n Network) NamedSystems() []Nameserver {
	var named []Nameserver
	for _, server := range n.Nameservers {
		if server.IsSystem() {
			named = append(named, server)
		}
	}
	return named
}
