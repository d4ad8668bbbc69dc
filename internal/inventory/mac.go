package inventory

import (
	"crypto/sha256"
	"fmt"
	"net"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// MAC is an Ethernet address. The zero MAC means none.
type MAC [6]byte

// String returns the form that Proxmox VE writes: BC:24:11:0A:0B:0C.
func (m MAC) String() string { return strings.ToUpper(net.HardwareAddr(m[:]).String()) }

// IsZero reports whether there is no address.
func (m MAC) IsZero() bool { return m == MAC{} }

// MarshalText implements [encoding.TextMarshaler].
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads six pairs of hexadecimal digits separated by colons or hyphens. A card has a unicast address: the lowest
// bit of the first byte is 0.
func (m *MAC) UnmarshalText(text []byte) error {
	address, err := net.ParseMAC(string(text))
	if err != nil || len(address) != len(m) {
		return &strictyaml.Fault{What: "is not a MAC address", Rule: "six bytes", Do: "write one like BC:24:11:0A:0B:0C"}
	}
	parsed := MAC(address)
	switch {
	case parsed.IsZero():
		return &strictyaml.Fault{What: "is no card's MAC address", Do: "remove the key to have one derived"}
	case parsed[0]&1 == 1:
		return &strictyaml.Fault{
			What: "is a multicast address", Rule: "the first byte is even",
			Do: "write one like BC:24:11:0A:0B:0C",
		}
	}
	*m = parsed
	return nil
}

// proxmoxOUI is the prefix registered for Proxmox Server Solutions, and Proxmox VE's own default (mac_prefix of
// datacenter.cfg).
var proxmoxOUI = [3]byte{0xBC, 0x24, 0x11}

// DerivedMAC returns the address of a card without a given one. It depends only on the cluster, the VMID and the card: 0 is the
// first card, the others follow in file order.
func DerivedMAC(cluster string, vmid, card int) MAC {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", cluster, vmid, card))
	return MAC{proxmoxOUI[0], proxmoxOUI[1], proxmoxOUI[2], sum[0], sum[1], sum[2]}
}
