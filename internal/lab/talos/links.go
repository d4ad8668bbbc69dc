package talos

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/siderolabs/talos/pkg/machinery/config"
	configtypes "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

const (
	loopbackName = "lo"
	// standardMTU is the default of a network card, loopbackMTU the kernel's value for its loopback.
	standardMTU = 1500
	loopbackMTU = 65536
)

// cardName returns the kernel's name of a card. Talos' nocloud platform boots with net.ifnames=0
// (platform/nocloud/nocloud.go).
func cardName(i int) string { return fmt.Sprintf("eth%d", i) }

// publishLinks publishes the loopback and the network cards, which exist without any configuration, with the values of the
// kernel and ethtool (controllers/network/link_status.go).
func (s *system) publishLinks(cfg config.Config) error {
	errs := []error{put(s, network.NewLinkStatus(network.NamespaceName, loopbackName), func(r *network.LinkStatus) {
		*r.TypedSpec() = network.LinkStatusSpec{
			Index: 1, Type: nethelpers.LinkLoopbck, MTU: loopbackMTU, OperationalState: nethelpers.OperStateUnknown, LinkState: true,
			QueueDisc: "noqueue", Port: nethelpers.Other, Duplex: nethelpers.Unknown,
		}
	})}

	for i, card := range s.hardware.NICs {
		errs = append(errs, put(s, network.NewLinkStatus(network.NamespaceName, cardName(i)), func(r *network.LinkStatus) {
			mac := nethelpers.HardwareAddr(card.MAC)
			*r.TypedSpec() = network.LinkStatusSpec{
				Index: uint32(i + 2), Type: nethelpers.LinkEther, HardwareAddr: mac, PermanentAddr: mac,
				BroadcastAddr: nethelpers.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, MTU: mtuOf(cfg, i, card.MAC),
				QueueDisc: "pfifo_fast", OperationalState: nethelpers.OperStateUp, LinkState: true, Driver: "virtio_net",
				Port: nethelpers.Other, Duplex: nethelpers.Unknown,
			}
		}))
	}

	return errors.Join(errs...)
}

// mtuOf returns the MTU of a card under a configuration.
func mtuOf(cfg config.Config, i int, mac net.HardwareAddr) uint32 {
	if cfg == nil || cfg.Machine() == nil {
		return standardMTU
	}

	for _, device := range cfg.Machine().Network().Devices() {
		if device.MTU() > 0 && means(device, i, mac) {
			return uint32(device.MTU())
		}
	}

	return standardMTU
}

// means reports whether a device of the configuration is the given card, by its name or its selector.
func means(device configtypes.Device, i int, mac net.HardwareAddr) bool {
	if device.Interface() != "" {
		return device.Interface() == cardName(i)
	}

	selector := device.Selector()
	if selector == nil || selector.HardwareAddress() == "" {
		return selector != nil && selector.Physical() != nil && *selector.Physical()
	}

	found, err := path.Match(selector.HardwareAddress(), mac.String())

	return err == nil && found
}

// cardsOf returns the number of the network card of each address, of the configuration drive and of the machine configuration.
func cardsOf(hardware Hardware, cfg config.Config) map[netip.Addr]int {
	cards := map[netip.Addr]int{}

	for i, nic := range hardware.NICs {
		for _, address := range nic.Seeded {
			cards[address.Addr()] = i
		}

		for _, text := range configuredOn(cfg, i, nic.MAC) {
			if address, err := netip.ParsePrefix(text); err == nil {
				cards[address.Addr()] = i
			}
		}
	}

	return cards
}

// configuredOn returns the addresses that a machine configuration gives a card.
func configuredOn(cfg config.Config, i int, mac net.HardwareAddr) []string {
	if cfg == nil {
		return nil
	}

	var addresses []string

	if cfg.Machine() != nil {
		for _, device := range cfg.Machine().Network().Devices() {
			if means(device, i, mac) {
				addresses = append(addresses, device.Addresses()...)
			}
		}
	}

	for _, link := range cfg.NetworkCommonLinkConfigs() {
		for _, address := range link.Addresses() {
			if link.Name() == cardName(i) {
				addresses = append(addresses, address.Address().String())
			}
		}
	}

	return addresses
}

// familyOf returns the family of an address.
func familyOf(address netip.Addr) nethelpers.Family {
	if address.Is4() {
		return nethelpers.FamilyInet4
	}

	return nethelpers.FamilyInet6
}

// publishAddressStatuses publishes the addresses on links.
func (s *system) publishAddressStatuses(n nodeNetwork) error {
	stay := map[resource.ID]bool{}
	publish := func(link string, index uint32, address netip.Prefix, scope nethelpers.Scope) error {
		id := network.AddressID(link, address)
		stay[id] = true

		return put(s, network.NewAddressStatus(network.NamespaceName, id), func(r *network.AddressStatus) {
			*r.TypedSpec() = network.AddressStatusSpec{
				Address: address, Local: address.Addr(), LinkIndex: index, LinkName: link, Family: familyOf(address.Addr()), Scope: scope,
				Flags: nethelpers.AddressFlags(nethelpers.AddressPermanent),
			}
		})
	}

	errs := []error{publish(loopbackName, 1, netip.MustParsePrefix("127.0.0.1/8"), nethelpers.ScopeHost)}
	for _, address := range n.addresses {
		card := n.cards[address.Addr()]
		errs = append(errs, publish(cardName(card), uint32(card+2), address, nethelpers.ScopeGlobal))
	}

	return errors.Join(append(errs, withdrawOthers[*network.AddressStatus](s, stay))...)
}
