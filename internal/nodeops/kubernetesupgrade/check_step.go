package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/versions"
)

// oldestKubelet is how many minors a kubelet may be older than the API server
// (https://kubernetes.io/releases/version-skew-policy).
const oldestKubelet = 3

// checkStep refuses what Kubernetes does not support, a downgrade or a skipped minor, and what the Talos of a node does not support. Validation
// refuses the same based on the inventory; this check is based on what runs.
func (u Upgrade) checkStep(_ context.Context, seen *survey) error {
	if len(seen.members) == 0 {
		return errNoMembers
	}
	var running []versions.Node
	for _, r := range seen.versions() {
		running = append(running, versions.Node{Name: r.what, State: versions.State{Talos: r.talos, Kubernetes: r.version}})
	}
	var problems []error
	for _, refusal := range versions.JudgeKubernetes(running, versions.State{Talos: seen.oldestTalos(), Kubernetes: u.To}) {
		problems = append(problems, refusal)
	}
	return errors.Join(problems...)
}

// checkNodes refuses a cluster that is not whole: a node that does not answer or is not Ready would be left behind, and so would
// one that the inventory does not know.
func (u Upgrade) checkNodes(ctx context.Context, seen *survey) error {
	if err := u.checkForeign(seen); err != nil {
		return err
	}
	var silent []string
	for _, m := range seen.members {
		if m.problem != nil {
			silent = append(silent, fmt.Sprintf("%s (%v)", m.Name, m.problem))
		}
	}
	if len(silent) > 0 {
		return fmt.Errorf("not every node can be upgraded: %s: mend that, then run up again; a worker can leave nodes.yaml before, and the VM of a control plane can be deleted, which up makes anew", strings.Join(silent, ", "))
	}
	if err := u.awaitReady(ctx, seen); err != nil {
		return err
	}
	for _, node := range seen.joining {
		if slices.Contains(seen.former, node) {
			continue // it is reported when its former Node is removed
		}
		u.say("%s is not a Node yet: it starts with %s", node.Name, u.To)
	}
	return nil
}

// checkForeign reports the Nodes that are not in the inventory, and refuses those that must not stay behind. A worker may, e.g. one that this run
// removes at its end.
func (u Upgrade) checkForeign(seen *survey) error {
	for _, node := range seen.foreign {
		switch {
		case node.controlPlane:
			return fmt.Errorf("the control plane %s is not in the inventory and would keep %s: add it to nodes.yaml, or remove it from the cluster, then run up again", node.name, node.kubelet)
		case node.kubelet.Minor().Minor+oldestKubelet < u.To.Minor().Minor:
			return fmt.Errorf("the Node %s is not in the inventory, and its kubelet %s is too old for %s: add it to nodes.yaml, or delete it with `kubectl delete node %[1]s`, then run up again", node.name, node.kubelet, u.To)
		default:
			u.say("the Node %s is not in the inventory: its kubelet stays at %s", node.name, node.kubelet)
		}
	}
	return nil
}
