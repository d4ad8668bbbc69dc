package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/versions"
)

// settled returns what the node runs, as soon as it runs the wanted release or can be upgraded to it. It waits for a node that still stops or boots
// because a killed run has ordered its upgrade, so that the upgrade is not ordered twice.
func (n Node) settled(ctx context.Context, wanted nodeops.Release) (nodeops.Running, error) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, n.Limits.Boot)
	defer cancel()
	var (
		seen nodeops.Running
		last error
	)
	ended := poll.Until(bounded, n.Limits.Interval, func(ctx context.Context) (bool, error) {
		now, err := n.look(ctx)
		if bounded.Err() != nil {
			return false, nil
		}
		seen, last = now, err
		if err == nil && !seen.Release.Satisfies(wanted) && seen.Stage != runtime.MachineStageRunning {
			last = fmt.Errorf("it is in stage %s", seen.Stage)
		}
		isLate := !seen.IsStopping() && time.Since(began) >= n.Limits.Answer
		return last == nil || isLate || errors.Is(last, nodeops.ErrTalosconfig), nil
	})
	switch {
	case ctx.Err() != nil:
		return seen, fmt.Errorf("%s is untouched: %w", n.Name, context.Cause(ctx))
	case ended != nil:
		return seen, n.hangs(n.Limits.Boot)
	case last == nil || errors.Is(last, nodeops.ErrTalosconfig):
		return seen, last
	default:
		return seen, fmt.Errorf("%s is untouched, because it cannot be upgraded now (%w): start its VM in Proxmox VE if it is off, or look at its console, then run up again", n.Name, last)
	}
}

// allows refuses what would do harm: an older version, since no release of Talos promises to read what a newer one has written, and
// a version whose installer refuses the one that runs, since the node would be drained and rebooted for nothing.
func (n Node) allows(runs, wanted nodeops.Release) error {
	from, err := versions.Parse(runs.Version)
	if err != nil {
		return fmt.Errorf("%s is untouched, because it runs %q, which is no version of Talos: upgrade it by hand to a released version, then run up again", n.Name, runs.Version)
	}
	to, err := versions.Parse(wanted.Version)
	if err != nil {
		return fmt.Errorf("%s is untouched, because %q is no version of Talos: set talos.version, e.g. to v1.12.4, then run up again", n.Name, wanted.Version)
	}
	node := versions.Node{Name: n.Name, State: versions.State{Talos: from}}
	for _, refusal := range versions.JudgeTalos([]versions.Node{node}, versions.State{Talos: to}) {
		if !refusal.Skips {
			return fmt.Errorf("%s is untouched, because %w, then run up again", n.Name, refusal)
		}
	}
	return nil
}
