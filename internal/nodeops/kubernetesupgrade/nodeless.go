package kubernetesupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	corev1 "k8s.io/api/core/v1"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// sortAbsent distinguishes the nodes of the inventory that are not among the Nodes: those that join later, and those that already run another
// version. A kubelet creates its Node only when it starts (kubernetes pkg/kubelet/kubelet_node_status.go, registerWithAPIServer), so a Node that was
// deleted is missing although the node runs.
func (u Upgrade) sortAbsent(ctx context.Context, nodes []corev1.Node) (joining, nodeless []rolling.Node) {
	for _, node := range u.Nodes {
		switch {
		case slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == node.Name }):
		case u.runsAnother(ctx, node):
			nodeless = append(nodeless, node)
		default:
			joining = append(joining, node)
		}
	}
	return joining, nodeless
}

// runsAnother reports whether a node answers under the PKI of the cluster, has a running kubelet, and has another version than the wanted one,
// configured for its kubelet or running in its static pods. A machine that waits for its configuration does not answer under that PKI.
func (u Upgrade) runsAnother(ctx context.Context, node rolling.Node) bool {
	m := member{Node: node}
	if u.ask(ctx, &m) != nil {
		return false
	}
	kubelet, err := versionOf(m.images[k8s.KubeletID])
	another := err != nil || kubelet.Compare(u.To) != 0
	for _, version := range m.running {
		another = another || version.Compare(u.To) != 0
	}
	return another && u.hasKubelet(ctx, node)
}

// hasKubelet reports whether the kubelet of a node runs.
func (u Upgrade) hasKubelet(ctx context.Context, node rolling.Node) (runs bool) {
	err := u.call(ctx, node, func(ctx context.Context, api *client.Client) error {
		services, err := api.ServiceInfo(ctx, "kubelet")
		runs = err == nil && slices.ContainsFunc(services, func(s client.ServiceInfo) bool { return s.Service.GetState() == "Running" })
		return err
	})
	return err == nil && runs
}

// checkNodeless waits until nodes that run without a Node have one, as after a restart that a killed run has left, and then surveys the cluster
// again. It refuses a node that still has none: its static pods would keep the old version while kubelets get the new one.
func (u Upgrade) checkNodeless(ctx context.Context, seen *survey) error {
	if len(seen.nodeless) == 0 || len(seen.members) == 0 {
		return nil
	}
	u.say("waits for the Nodes of %s (%s at most)", strings.Join(rolling.Names(seen.nodeless), ", "), u.Limits.Nodes)
	err := u.await(ctx, u.Limits.Nodes, func(ctx context.Context) error {
		nodes, err := u.nodes(ctx)
		if err != nil {
			return err
		}
		_, nodeless := u.sortAbsent(ctx, nodes)
		return refuseNodeless(nodeless)
	})
	if err != nil {
		return err
	}
	again, err := u.survey(ctx)
	if err != nil {
		return err
	}
	*seen = *again
	return refuseNodeless(seen.nodeless)
}

func refuseNodeless(nodeless []rolling.Node) error {
	if len(nodeless) == 0 {
		return nil
	}
	return fmt.Errorf("%s runs a kubelet and is no Node of the cluster, so it would be left behind: restart its kubelet with `talosctl -n %s service kubelet restart`, which creates the Node again, then run up again",
		nodeless[0].Name, nodeless[0].Address)
}

// checkControlPlane refuses a cluster without a control plane among its Nodes: the components of control planes are upgraded first.
func (u Upgrade) checkControlPlane(_ context.Context, seen *survey) error {
	if len(seen.controlPlanes()) > 0 {
		return nil
	}
	at := slices.IndexFunc(u.Nodes, func(n rolling.Node) bool { return n.ControlPlane })
	if at < 0 {
		return errNoMembers // no control plane is known that could be named
	}
	return fmt.Errorf("no control plane of the inventory is a Node of this cluster: restart the kubelet of %s with `talosctl -n %s service kubelet restart`, which creates its Node again, then run up again",
		u.Nodes[at].Name, u.Nodes[at].Address)
}
