package nodeops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// registrationGrace is how long a kubelet that runs may take to register its Node. It tries again within seconds.
const registrationGrace = 20 * time.Second

// errNoNode is returned for a node without a Node in Kubernetes.
var errNoNode = errors.New("no Node has its name")

// Registration makes nodes register in Kubernetes again after their Node was deleted, as by `kubectl delete node`. A kubelet
// registers only once per start (kubernetes, pkg/kubelet/kubelet_node_status.go, registerWithAPIServer), so it is restarted,
// once for each node. Pods go on running. The zero value cannot be used; all fields are required.
type Registration struct {
	Health Health
	// Now is the clock.
	Now func() time.Time

	mu        sync.Mutex
	missing   map[string]time.Time // since when a node has no Node, by its name
	restarted map[string]bool
}

// Missing is called each time when a node is seen to run without a Node. After a grace period it restarts the kubelet, and
// reports whether it did.
func (r *Registration) Missing(ctx context.Context, node rolling.Node) (restarted bool, err error) {
	if !r.isDue(node.Name) {
		return false, nil
	}
	if err := r.Health.restartKubelet(ctx, node); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restarted[node.Name] = true
	return true, nil
}

// isDue reports whether a node has had no Node for the whole grace period, and its kubelet was not restarted yet.
func (r *Registration) isDue(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing == nil {
		r.missing, r.restarted = map[string]time.Time{}, map[string]bool{}
	}
	now := r.Now()
	since, isKnown := r.missing[name]
	if !isKnown {
		r.missing[name] = now
	}
	return isKnown && !r.restarted[name] && now.Sub(since) >= registrationGrace
}

// RegisterAgain restarts the kubelets of nodes that answer and have no Node at the beginning of a run, and returns their names. Otherwise a drain
// could wait for room on a node that has no Node. It does nothing if Kubernetes does not answer.
func (h Health) RegisterAgain(ctx context.Context) (restarted []string, err error) {
	nodes, err := h.kubernetesNodes(ctx, rolling.Node{})
	if err != nil {
		return nil, context.Cause(ctx)
	}
	var problems []error
	for _, node := range h.Nodes {
		hasNode := slices.ContainsFunc(nodes, func(n kubernetesNode) bool { return n.name == node.Name })
		if hasNode || !IsAlive(ctx, h.Talosconfig, node.Address.String()) {
			continue
		}
		if err := h.restartKubelet(ctx, node); err != nil {
			problems = append(problems, err)
			continue
		}
		restarted = append(restarted, node.Name)
	}
	return restarted, errors.Join(problems...)
}

// restartKubelet restarts the kubelet of a node.
func (h Health) restartKubelet(ctx context.Context, node rolling.Node) error {
	err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ServiceRestart(ctx, "kubelet")
		return err
	})
	if err != nil {
		return fmt.Errorf("the kubelet of %s does not restart (%w): reboot that node", node.Name, err)
	}
	return nil
}

// back returns the condition under which a changed node is back. A node whose Node was deleted is registered again.
func (h Health) back(node rolling.Node, former string, networked bool) func(context.Context) error {
	registration := &Registration{Health: h, Now: time.Now}
	return func(ctx context.Context) error {
		err := h.works(ctx, node, former, networked)
		if !errors.Is(err, errNoNode) {
			return err
		}
		restarted, failed := registration.Missing(ctx, node)
		if restarted {
			h.say("%s has no Node in Kubernetes: its kubelet is restarted, which registers it again", node.Name)
		}
		return errors.Join(err, failed)
	}
}
