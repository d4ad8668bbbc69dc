package nodeops

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/image-factory/pkg/constants"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// Profile is what a node reports about itself, for a node that nothing else describes.
type Profile struct {
	Observation

	// Name is its hostname, without its domain.
	Name string
	// FQDN is its hostname with its domain, if it has one.
	FQDN string
	// Address is the address at which the node was asked, with the length of its network.
	Address netip.Prefix
	// Address6 is the first permanent IPv6 address on the same card; invalid if there is none, or if Address itself is an IPv6 address.
	Address6 netip.Prefix
	// Firmware is the UUID of its firmware.
	Firmware string
	// Extensions of its image, sorted, without their vendor, e.g. qemu-guest-agent.
	Extensions []string
	// Cards are its network cards, sorted by their hardware addresses.
	Cards []Card
}

// Card is a network card of a node.
type Card struct {
	// MAC is its hardware address.
	MAC net.HardwareAddr
	// MTU that it runs with, in bytes.
	MTU int
	// Addresses are its permanent addresses, sorted, without link-local ones and those that a router assigns for a limited time.
	Addresses []netip.Prefix
}

// Profile reads what a node says about itself. The error is the node's answer, for use inside a sentence.
func (h Health) Profile(ctx context.Context, address netip.Addr) (Profile, error) {
	observed, err := h.Observe(ctx, address.String())
	if err != nil {
		return Profile{}, err
	}
	profile := Profile{Observation: observed}
	err = h.ask(ctx, address.String(), func(ctx context.Context, api *client.Client) error {
		hostname, err := safe.StateGetByID[*network.HostnameStatus](ctx, api.COSI, network.HostnameID)
		if err != nil {
			return err
		}
		profile.Name, profile.FQDN = hostname.TypedSpec().Hostname, hostname.TypedSpec().FQDN()
		information, err := safe.StateGetByID[*hardware.SystemInformation](ctx, api.COSI, hardware.SystemInformationID)
		if err != nil {
			return err
		}
		profile.Firmware = information.TypedSpec().UUID
		if err := profile.readCards(ctx, api, address); err != nil {
			return err
		}
		profile.Extensions, err = readExtensions(ctx, api)
		return err
	})
	return profile, err
}

// readCards reads the network cards and their addresses, and takes Address and Address6 from the card with the given address.
func (p *Profile) readCards(ctx context.Context, api *client.Client, given netip.Addr) error {
	links, err := safe.StateListAll[*network.LinkStatus](ctx, api.COSI)
	if err != nil {
		return err
	}
	addresses, err := safe.StateListAll[*network.AddressStatus](ctx, api.COSI)
	if err != nil {
		return err
	}
	for link := range links.All() {
		if spec := link.TypedSpec(); spec.Physical() {
			card := Card{MAC: net.HardwareAddr(spec.HardwareAddr), MTU: int(spec.MTU), Addresses: lasting(addresses, link.Metadata().ID())}
			p.Cards = append(p.Cards, card)
		}
	}
	slices.SortFunc(p.Cards, func(a, b Card) int { return bytes.Compare(a.MAC, b.MAC) })
	card := ""
	for one := range addresses.All() {
		if spec := one.TypedSpec(); spec.Address.Addr() == given {
			p.Address, card = spec.Address, spec.LinkName
		}
	}
	for _, address := range lasting(addresses, card) {
		if given.Is4() && address.Addr().Is6() && !address.IsSingleIP() && !p.Address6.IsValid() {
			p.Address6 = address
		}
	}
	return nil
}

// lasting returns the permanent addresses of a link, sorted.
func lasting(addresses safe.List[*network.AddressStatus], link string) []netip.Prefix {
	var found []netip.Prefix
	for one := range addresses.All() {
		spec := one.TypedSpec()
		lasts := spec.Flags&nethelpers.AddressFlags(nethelpers.AddressPermanent) != 0
		if spec.LinkName == link && lasts && !spec.Address.Addr().IsLinkLocalUnicast() {
			found = append(found, spec.Address)
		}
	}
	slices.SortFunc(found, netip.Prefix.Compare)
	return found
}

func readExtensions(ctx context.Context, api *client.Client) ([]string, error) {
	extensions, err := safe.StateListAll[*runtime.ExtensionStatus](ctx, api.COSI)
	if err != nil {
		return nil, err
	}
	var names []string
	for extension := range extensions.All() {
		if name := extension.TypedSpec().Metadata.Name; name != constants.SchematicIDExtensionName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Peer is a node of the cluster, as another node knows it.
type Peer struct {
	// Name is its hostname with its domain, if it has one (Talos, controllers/cluster/local_affiliate.go).
	Name string
	// Addresses are all addresses that it announces to others, which may include the virtual address of the Kubernetes API.
	Addresses []netip.Addr
	// ControlPlane is whether it is a control plane.
	ControlPlane bool
}

// Peers returns the nodes of the cluster that a node knows of by Talos' discovery, itself included. Control planes come first, and each group is
// sorted by name. The error is the node's answer, for use inside a sentence.
func (h Health) Peers(ctx context.Context, address string) (peers []Peer, err error) {
	err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) error {
		members, err := safe.StateListAll[*cluster.Member](ctx, api.COSI)
		if err != nil {
			return err
		}
		for member := range members.All() {
			spec := member.TypedSpec()
			if len(spec.Addresses) > 0 {
				peers = append(peers, Peer{Name: spec.Hostname, Addresses: spec.Addresses, ControlPlane: spec.MachineType.IsControlPlane()})
			}
		}
		return nil
	})
	slices.SortFunc(peers, func(a, b Peer) int {
		if a.ControlPlane != b.ControlPlane {
			if a.ControlPlane {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return peers, err
}
