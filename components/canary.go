package components

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// canary is the node that is upgraded before all others. Without a name there is none.
type canary struct {
	name  string
	pause time.Duration
	// parallel is how many resources the engine works on at once; 0 if that is not known. A wait in a hook occupies one of them (pulumi
	// pkg/v3 v3.254.0, resource/deploy/step_executor.go), so with as many control planes the upgrade of the canary would never begin.
	parallel, waiting int

	announced sync.Once
	known     chan struct{}   // closed when member is set
	member    pulumi.Resource // its membership, whose update is its upgrade
}

func newCanary(a TalosClusterArgs, parallel int32) *canary {
	c := &canary{name: a.Canary, pause: a.CanaryPause, known: make(chan struct{}), parallel: int(parallel)}
	for _, m := range a.Machines {
		if m.Role == RoleControlPlane && !c.is(m.Name) { // workers follow the control planes in the graph
			c.waiting++
		}
	}
	return c
}

// is reports whether a node is the canary.
func (c *canary) is(name string) bool { return c.name != "" && c.name == name }

// announce takes a membership as it is registered, and keeps that of the canary.
func (c *canary) announce(name string, member pulumi.Resource) {
	if c.is(name) {
		c.announced.Do(func() {
			c.member = member
			close(c.known)
		})
	}
}

// pauseOf returns how long a node must work before others are upgraded; 0 for other nodes than the canary.
func (c *canary) pauseOf(node rolling.Node) time.Duration {
	if !c.is(node.Name) {
		return 0
	}
	return c.pause
}

// canaryMoment is the longest wait for the canary that is not reported.
const canaryMoment = time.Second

// await returns when the canary runs the wanted release, and has worked for the pause if it was upgraded in this run. The wait is in the hooks and
// not in the graph: a canary that is a worker is created after the control planes, but upgraded before them. The wait has no time limit of its own:
// the upgrade of the canary has one.
func (c *canary) await(ctx context.Context, node rolling.Node, tell func(what string)) error {
	if c.name == "" || c.is(node.Name) {
		return nil
	}
	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- c.ended(ctx) }() // an output that is awaited does not notice the end of its context
	moment := time.NewTimer(canaryMoment)
	defer moment.Stop()
	for {
		select {
		case <-moment.C:
			if c.parallel > 0 && c.parallel <= c.waiting {
				return fmt.Errorf("%s is untouched: with --parallel %d, all that Pulumi works on at once would wait for the canary %s: run it with --parallel %d or more", node.Name, c.parallel, c.name, c.waiting+1)
			}
			tell(fmt.Sprintf("waits for the canary %s, which is upgraded before all others (since %s)", c.name, began.Format(time.TimeOnly)))
		case <-ctx.Done():
			return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
		case err := <-ended:
			switch {
			case ctx.Err() != nil: // it may have failed because of that
				return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
			case err != nil:
				return fmt.Errorf("%s is untouched, because %s, which is upgraded before all others, was not upgraded: mend that node, then run up again", node.Name, c.name)
			default:
				return nil
			}
		}
	}
}

// ended waits for the end of the canary's update. The error is its failure, or the end of ctx.
func (c *canary) ended(ctx context.Context) error {
	select {
	case <-c.known:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := internals.UnsafeAwaitOutput(ctx, c.member.URN())
	return err
}
