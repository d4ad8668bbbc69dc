package nodeops

import (
	"context"
	"slices"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// isOutsider reports whether a machine that is off, or waits for its first configuration, is not part of the cluster yet: it
// is not a member of etcd and has no Node. Its creation failed half way, e.g. its start failed. A change of it cannot harm
// the cluster, and a wait for it would never end, because its configuration comes after the change. If it is unknown whether
// it has a Node, the machine counts as part of the cluster.
func (h Health) isOutsider(ctx context.Context, members []*machineapi.EtcdMember, node rolling.Node, off bool) bool {
	if !off && !isInMaintenance(ctx, node.Address.String()) {
		return false
	}
	for _, member := range members {
		if address, err := memberAddress(member); err != nil || isMemberOf(member, address, node) {
			return false
		}
	}
	nodes, err := h.kubernetesNodes(ctx, node)
	return err == nil && !slices.ContainsFunc(nodes, func(n kubernetesNode) bool { return n.name == node.Name })
}
