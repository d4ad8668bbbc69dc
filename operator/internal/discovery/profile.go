package discovery

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// ProfileOf queries a node at its addresses, in the order in which it announces them, until one is in the network of a default route: an address in
// another network, such as that of a NAS, is no address of the cluster. If there is no such address, the first address that is the node's own
// counts. A virtual address has no network, and may lead to another node.
func ProfileOf(peer nodeops.Peer, ask func(netip.Addr) (nodeops.Profile, error)) (nodeops.Profile, error) {
	var failures []string
	var own []nodeops.Profile
	for _, address := range peer.Addresses {
		profile, err := ask(address)
		switch {
		case err != nil:
			failures = append(failures, fmt.Sprintf("%s: %v", address, err))
		case profile.FQDN != peer.Name:
			failures = append(failures, fmt.Sprintf("%s: %s answers there", address, profile.FQDN))
		case profile.Address.IsSingleIP():
			failures = append(failures, fmt.Sprintf("%s: it is an address without a network, as virtual ones are", address))
		case slices.ContainsFunc(profile.Gateways, profile.Address.Contains):
			return profile, nil
		default:
			own = append(own, profile)
		}
	}
	if len(own) > 0 {
		return own[0], nil
	}
	return nodeops.Profile{}, fmt.Errorf("%s does not answer at an address of its own: start it, then try again\n%s", peer.Name, strings.Join(failures, "\n"))
}
