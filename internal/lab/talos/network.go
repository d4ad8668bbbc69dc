package talos

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// nodeNetwork has the name and the addresses of a node.
type nodeNetwork struct {
	// addresses of the node, first those on which it listens.
	addresses []netip.Prefix
	// cards are the numbers of the network cards that have the addresses. Addresses without a number are on the first card.
	cards    map[netip.Addr]int
	hostname string
	domain   string
}

func (n nodeNetwork) fqdn() string {
	if n.domain == "" {
		return n.hostname
	}

	return n.hostname + "." + n.domain
}

// ips returns all addresses without their networks.
func (n nodeNetwork) ips() []netip.Addr {
	ips := make([]netip.Addr, 0, len(n.addresses))
	for _, address := range n.addresses {
		ips = append(ips, address.Addr())
	}

	return ips
}

// isLocal reports whether a client's target, a name or an address, is this node.
func (n nodeNetwork) isLocal(target string) bool {
	return target == n.hostname || target == n.fqdn() ||
		slices.ContainsFunc(n.addresses, func(a netip.Prefix) bool { return a.Addr().String() == target })
}

// networkOf returns the network of a machine with this configuration, which is nil in maintenance mode. The configuration
// drive's addresses stay when the configuration adds others, because Talos merges the two layers.
func networkOf(hardware Hardware, cfg config.Config, nodeID string) (nodeNetwork, error) {
	n := nodeNetwork{addresses: slices.Concat(hardware.addresses(), hardware.otherAddresses()), cards: cardsOf(hardware, cfg)}

	if cfg != nil {
		configured, err := staticAddresses(cfg)
		if err != nil {
			return nodeNetwork{}, err
		}

		for _, address := range configured {
			if !slices.ContainsFunc(n.addresses, func(a netip.Prefix) bool { return a.Addr() == address.Addr() }) {
				n.addresses = append(n.addresses, address)
			}
		}
	}

	var name network.HostnameSpecSpec
	if fqdn := hostnameOf(hardware, cfg, nodeID); fqdn != "" {
		if err := name.ParseFQDN(fqdn); err != nil {
			return nodeNetwork{}, fmt.Errorf("hostname %q: %w", fqdn, err)
		}
	}

	n.hostname, n.domain = name.Hostname, name.Domainname

	return n, nil
}

// hostnameOf uses Talos' layers: machine configuration, then platform, then a generated name
// (controllers/network/hostname_config.go).
func hostnameOf(hardware Hardware, cfg config.Config, nodeID string) string {
	platform := hardware.CloudInit.Hostname
	if cfg == nil || cfg.NetworkHostnameConfig() == nil {
		return platform
	}

	wanted := cfg.NetworkHostnameConfig()

	switch {
	case wanted.Hostname() != "":
		return wanted.Hostname()
	case platform != "":
		return platform
	case wanted.AutoHostname() == nethelpers.AutoHostnameKindStable:
		return stableHostname(nodeID)
	case wanted.AutoHostname() == nethelpers.AutoHostnameKindAddr && len(hardware.addresses()) > 0:
		return "talos-" + strings.ReplaceAll(hardware.addresses()[0].Addr().String(), ".", "-")
	default:
		return ""
	}
}

// stableHostname derives a name from the node's identity, so that it survives reboots but not a reset.
func stableHostname(nodeID string) string {
	sum := sha256.Sum256([]byte(nodeID))
	text := new(big.Int).SetBytes(sum[:8]).Text(36)
	text = strings.Repeat("0", max(0, 7-len(text))) + text

	return "talos-" + text[1:4] + "-" + text[4:7]
}

// staticAddresses returns the addresses of a machine configuration, in its old form and in its documents.
func staticAddresses(cfg config.Config) ([]netip.Prefix, error) {
	var texts []string

	if cfg.Machine() != nil {
		for _, device := range cfg.Machine().Network().Devices() {
			texts = append(texts, device.Addresses()...)

			for _, vlan := range device.Vlans() {
				texts = append(texts, vlan.Addresses()...)
			}
		}
	}

	var addresses []netip.Prefix

	for _, text := range texts {
		address, err := netip.ParsePrefix(text)
		if err != nil {
			// Talos accepts an address without a network.
			addr, bare := netip.ParseAddr(text)
			if bare != nil {
				return nil, fmt.Errorf("address %q of the machine configuration: %w", text, err)
			}

			address = netip.PrefixFrom(addr, addr.BitLen())
		}

		addresses = append(addresses, address)
	}

	for _, link := range cfg.NetworkCommonLinkConfigs() {
		for _, address := range link.Addresses() {
			addresses = append(addresses, address.Address())
		}
	}

	return addresses, nil
}

// checkAddresses returns an error for a configuration with another address in the network of the machine's boot address. A
// real node would answer at both, or conflict with another machine. In a rehearsal it means that the two places with the
// address disagree. Addresses in other networks are allowed.
func checkAddresses(hardware Hardware, cfg config.Config) error {
	configured, err := staticAddresses(cfg)
	if err != nil {
		return err
	}

	own := hardware.addresses()

	for _, address := range configured {
		onNetwork := slices.ContainsFunc(own, func(o netip.Prefix) bool { return o.Masked().Contains(address.Addr()) })
		mine := slices.ContainsFunc(own, func(o netip.Prefix) bool { return o.Addr() == address.Addr() })

		if onNetwork && !mine {
			return fmt.Errorf("the machine configuration sets address %s, but the machine booted with %s: "+
				"make the two the same", address.Addr(), own[0].Addr())
		}
	}

	return nil
}
