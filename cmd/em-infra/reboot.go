package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/progress"
)

// rebootPatience is how long a node may take from the order to its next boot, on slow hardware.
const rebootPatience = 15 * time.Minute

func newRebootCommand() *cobra.Command {
	var (
		flags        stackFlags
		all          bool
		drainTimeout time.Duration
	)
	command := &cobra.Command{
		Use:   "reboot --stack STACK NODE...",
		Short: "Reboot nodes one after the other, each when the cluster can do without it",
		Long: `Reboot nodes by their Talos API, one after the other: each when the other members of etcd are well and the other Nodes
are Ready, after its pods were evicted as PodDisruptionBudgets allow, and the next only when the one before works again. That
is how a node comes to use the room of a disk that has grown. A node that does not come back ends it, and the rest is
untouched. With ` + nodeops.OverrideVariable + `=yes, pods that are still held back after --drain-timeout are deleted.`,
		Example: "  em-infra reboot --stack k3s-dev k3s-dev-worker-1\n  em-infra reboot --stack k3s-dev --all --yes",
		Args:    cobra.ArbitraryArgs, // the names of nodes
		RunE: func(command *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return refused(errors.New("give the names of the nodes to reboot, or --all: `em-infra status` says which ones wait for a boot"))
			}
			s, err := openSession(command.Context(), flags, want{consent: "reboot " + inWords(names)}, streamsOf(command))
			if err != nil {
				return err
			}
			if err := s.quiet(command.Context()); err != nil {
				return err
			}
			return s.reboot(command.Context(), names, drainTimeout)
		},
	}
	command.ValidArgsFunction = flags.completeNodes
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().BoolVar(&all, "all", false, "all nodes of the inventory, in its order")
	command.Flags().DurationVar(&drainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	return command
}

// inWords are the nodes in a sentence.
func inWords(names []string) string {
	if len(names) == 0 {
		return "all nodes"
	}
	return strings.Join(names, ", ")
}

// reboot takes the nodes through the lane by which updates go, so that each rule about what a cluster can spare holds here.
func (s *session) reboot(ctx context.Context, names []string, drainTimeout time.Duration) error {
	sources, err := s.sources(ctx)
	if err != nil {
		return err
	}
	if len(sources.Talosconfig) == 0 {
		return refused(fmt.Errorf("the stack has no talosconfig: bring the cluster up first with `%s`", typed("up %s", s.place)))
	}
	health := sources.Health()
	health.DrainTimeout, health.DeleteHeldBack = drainTimeout, os.Getenv(nodeops.OverrideVariable) == "yes"
	health.Say = func(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }
	nodes, err := chosenNodes(health.Nodes, names)
	if err != nil {
		return refused(err)
	}
	if s.consent != "" {
		if err := s.ask(ctx); err != nil {
			return err
		}
	}
	lane := rolling.NewLane(health, rolling.Options{})
	for _, node := range nodes {
		began := time.Now()
		if err := rebootOne(ctx, lane, health, node); err != nil {
			return err
		}
		progress.Line(s.out, "reboot", node.Name+" works again", time.Since(began))
	}
	return nil
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
		lane.Abandon(node)
		return err
	default:
		return lane.Leave(ctx, node)
	}
}

// chosenNodes are those of these names, in the order of the inventory; all without a name.
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
