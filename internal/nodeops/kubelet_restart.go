package nodeops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// ConfigureKubelet is [Health.Configure] for a change that makes Talos restart the kubelet, such as another CA of Kubernetes (talos v1.12.4,
// controllers/k8s/kubelet_service.go). It returns when the kubelet was restarted and the node works again: Talos is ready, on a control plane etcd
// votes and the static pods run with the new configuration, and the Node is Ready, unless no Node of the cluster is. It also waits for this if the
// node already has the change.
func (h Health) ConfigureKubelet(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) error {
	before, err := h.kubeletOf(ctx, node)
	if err != nil {
		return err
	}
	networked := h.isNetworked(ctx)
	isChanged, err := h.Configure(ctx, node, change)
	if err != nil {
		return err
	}
	return untilHolds(ctx, func(ctx context.Context) error {
		now, err := h.kubeletOf(ctx, node)
		switch {
		case err != nil:
			return err
		case !now.runs, isChanged && !now.down.After(before.down):
			return errors.New("its kubelet has not been restarted yet")
		}
		return h.works(ctx, node, "", networked)
	})
}

// isNetworked reports whether the Nodes can be Ready: without a network plugin none is. It returns true if the API does not answer.
func (h Health) isNetworked(ctx context.Context) bool {
	nodes, err := h.kubernetesNodes(ctx, rolling.Node{})
	return err != nil || slices.ContainsFunc(nodes, func(n kubernetesNode) bool { return n.ready })
}

// kubelet is what a node says about its kubelet.
type kubelet struct {
	runs bool
	down time.Time // when it last did not run, by the clock of the node
}

func (h Health) kubeletOf(ctx context.Context, node rolling.Node) (found kubelet, err error) {
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		services, err := api.ServiceInfo(ctx, "kubelet")
		if err != nil || len(services) == 0 {
			return err
		}
		found.runs = services[0].Service.GetState() == stateRunning
		for _, event := range services[0].Service.GetEvents().GetEvents() {
			if at := event.GetTs().AsTime(); event.GetState() != stateRunning && at.After(found.down) {
				found.down = at
			}
		}
		return nil
	})
	return found, err
}

// stateRunning is the state of a service that runs.
const stateRunning = "Running"

// untilHolds asks until a condition holds. If ctx ends before, it returns why the condition did not hold at the last check.
func untilHolds(ctx context.Context, holds func(context.Context) error) error {
	last := errors.New("no answer")
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := holds(ctx)
		if err == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	}) != nil {
		return last
	}
	return nil
}
