package nodeops

import (
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// AndEndpoints adds the control planes that are endpoints of the talosconfig and not among the nodes, such as those from before a change of the
// inventory. It leaves out the endpoint except. The added nodes have their addresses as names. The error is [ErrTalosconfig].
func (h Health) AndEndpoints(except string) (Health, error) {
	endpoints, err := Endpoints(h.Talosconfig)
	if err != nil {
		return h, err
	}
	nodes := slices.Clone(h.Nodes)
	for _, endpoint := range endpoints {
		address, err := netip.ParseAddr(endpoint)
		isKnown := slices.ContainsFunc(nodes, func(n rolling.Node) bool { return n.Address == address })
		if err == nil && !isKnown && endpoint != except {
			nodes = append(nodes, rolling.Node{Name: endpoint, Address: address, ControlPlane: true})
		}
	}
	h.Nodes = nodes
	return h, nil
}
