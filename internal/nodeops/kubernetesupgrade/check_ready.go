package kubernetesupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/siderolabs/go-kubernetes/kubernetes/manifests"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// looksInSilence is the number of the look at Nodes that are not Ready at which the wait is reported.
const looksInSilence = 5

// awaitReady waits for Nodes that are not Ready: after a power cut, or a restart that a killed run has left, their kubelets report
// again within a minute. Without a network plugin no Node is ever Ready, and none is waited for.
func (u Upgrade) awaitReady(ctx context.Context, seen *survey) error {
	missed, err := u.missed(ctx, seen)
	if err != nil || len(missed()) == 0 {
		return err
	}
	looks := 0
	return u.await(ctx, u.Limits.Nodes, func(ctx context.Context) error {
		if looks++; looks == looksInSilence {
			u.say("waits for Nodes that are not Ready: %s (%s at most)", strings.Join(missed(), ", "), u.Limits.Nodes)
		}
		nodes, err := u.nodes(ctx)
		if err != nil {
			return err
		}
		seen.takeReadiness(nodes)
		if unready := seen.unready(); len(unready) > 0 {
			return fmt.Errorf("not Ready: %s: mend that (`kubectl describe node %s` says why), then run up again", strings.Join(unready, ", "), unready[0])
		}
		if dead := missed(); len(dead) > 0 {
			return fmt.Errorf("neither Ready nor in the inventory: %s: the pods that Talos has on every node would never roll out there; delete that Node with `kubectl delete node %s`, then run up again", strings.Join(dead, ", "), dead[0])
		}
		return nil
	})
}

// missed returns a function that lists the Nodes without which the upgrade would not end: members that are not Ready and, if Talos has a DaemonSet,
// foreign Nodes that are not Ready. The DaemonSet's controller replaces no further pod while the pod of a dead Node is unavailable (kubernetes
// pkg/controller/daemon/update.go, rollingUpdate).
func (u Upgrade) missed(ctx context.Context, seen *survey) (missed func() []string, err error) {
	if len(seen.deadForeign()) == 0 {
		return seen.unready, nil
	}
	first := seen.controlPlanes()[0]
	onEveryNode := false
	err = u.call(ctx, first.Node, func(ctx context.Context, api *client.Client) error {
		objects, err := manifests.GetBootstrapManifests(ctx, api.COSI, nil)
		onEveryNode = slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "DaemonSet" })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what %s runs on every node is not known (%w): run up again", first.Name, err)
	}
	if !onEveryNode {
		return seen.unready, nil
	}
	return func() []string { return slices.Concat(seen.unready(), seen.deadForeign()) }, nil
}
