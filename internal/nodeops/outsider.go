package nodeops

import (
	"context"
	"slices"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// isOutsider reports whether a machine that is off, or waits for its first configuration, is no part of the cluster yet: it is no
// member of its etcd, and has no Node. Its creation failed half way, as with a start that failed. The cluster loses nothing by a
// change of it, and it would be waited for in vain: its configuration comes after the change. Where it is not known whether it
// has a Node, it counts as a part of the cluster.
func (h Health) isOutsider(ctx context.Context, members []*machineapi.EtcdMember, node rolling.Node, off bool) bool {
	if !off && !isInMaintenance(ctx, node.Address.String()) {
		return false
	}
	for _, member := range members {
		if address, err := memberAddress(member); err != nil || member.GetHostname() == node.Name || address == node.Address.String() {
			return false
		}
	}
	nodes, err := h.kubernetesNodes(ctx, node)
	return err == nil && !slices.ContainsFunc(nodes, func(n kubernetesNode) bool { return n.name == node.Name })
}
