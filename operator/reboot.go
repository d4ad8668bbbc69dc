package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/remedy"
)

// rebootPatience is the time limit from the reboot request to the node's next boot, on slow hardware.
const rebootPatience = 15 * time.Minute

// RebootOptions are the options of [Operator.Reboot].
type RebootOptions struct {
	// Nodes are the names of the nodes to reboot. Default: all nodes of the inventory.
	Nodes []string
	// DrainTimeout is how long to wait for pods that PodDisruptionBudgets protect. Default: 0, no wait.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still protected after the timeout. Default: false, the reboot ends with an error.
	DeleteHeldBack bool
}

// Reboot reboots nodes one after the other, after consent, each as soon as the cluster can do without it. If a node does not work
// again, Reboot returns an error and leaves the other nodes untouched.
func (o *Operator) Reboot(ctx context.Context, options RebootOptions) error {
	s, err := o.begin(ctx, needs{consent: "reboot " + inWords(options.Nodes)})
	if err != nil {
		return err
	}
	defer s.recovery.Release(ctx)
	if err := s.recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	return s.reboots().run(ctx, options)
}

// inWords returns the nodes for a sentence.
func inWords(names []string) string {
	if len(names) == 0 {
		return "all nodes"
	}
	return strings.Join(names, ", ")
}

// reboots are reboots of nodes, one after the other.
type reboots struct {
	*Operator

	sources stackSources
	consent consent
	place   remedy.Place
}

func (s *session) reboots() reboots {
	return reboots{Operator: s.Operator, sources: s.sources(), consent: s.consent, place: s.place}
}

// run uses the same lane as updates, so that the same rules protect the cluster.
func (r reboots) run(ctx context.Context, options RebootOptions) error {
	health, err := r.health(ctx, options.DrainTimeout, options.DeleteHeldBack)
	if err != nil {
		return err
	}
	nodes, err := chosenNodes(health.Nodes, options.Nodes)
	if err != nil {
		return refused(err)
	}
	if err := r.consent.ask(ctx); err != nil {
		return err
	}
	lane := rolling.NewLane(health, rolling.Options{MinReady: r.sources.inventory.Cluster.Upgrade.MinReady()})
	for i, node := range nodes {
		began := r.clock.Now()
		if err := rebootOne(ctx, lane, health, node); err != nil {
			return r.place.After("reboot " + strings.Join(rolling.Names(nodes[i:]), " ")).CompleteError(err)
		}
		r.emit(Progress{Part: "reboot", What: node.Name + " works again", Took: r.clock.Now().Sub(began)})
	}
	return nil
}

// health returns the checks of the cluster's nodes, which also drain them.
func (r reboots) health(ctx context.Context, drainTimeout time.Duration, deleteHeldBack bool) (nodeops.Health, error) {
	sources, err := r.sources.ofCluster(ctx)
	if err != nil {
		return nodeops.Health{}, err
	}
	if len(sources.Talosconfig) == 0 {
		return nodeops.Health{}, refused(fmt.Errorf("the stack has no talosconfig: bring the cluster up first with `em-infra up %s`", r.place.Stack))
	}
	health := sources.Health()
	health.DrainTimeout, health.DeleteHeldBack = drainTimeout, deleteHeldBack
	health.Say = func(format string, args ...any) { r.emit(Rebooting{fmt.Sprintf(format, args...)}) }
	return health, nil
}

func rebootOne(ctx context.Context, lane *rolling.Lane, health nodeops.Health, node rolling.Node) error {
	if err := lane.Enter(ctx, rolling.Change{Node: node, Reboots: true}); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, rebootPatience)
	defer cancel()
	err := health.Reboot(bounded, node)
	var untouched *nodeops.UntouchedError
	switch {
	case errors.As(err, &untouched):
		return errors.Join(err, lane.Decline(ctx, node))
	case err != nil:
		return errors.Join(err, lane.Fail(ctx, node, health.Running(node)))
	default:
		return lane.Leave(ctx, node)
	}
}

// chosenNodes returns the nodes with these names in the order of the inventory; without names, all nodes.
func chosenNodes(nodes []rolling.Node, names []string) ([]rolling.Node, error) {
	if len(names) == 0 {
		return nodes, nil
	}
	var chosen []rolling.Node
	for _, node := range nodes {
		if slices.Contains(names, node.Name) {
			chosen = append(chosen, node)
		}
	}
	var problems []error
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n rolling.Node) bool { return n.Name == name }) {
			problems = append(problems, fmt.Errorf("%s is no node of the inventory: give the name of one in nodes.yaml", name))
		}
	}
	return chosen, errors.Join(problems...)
}
