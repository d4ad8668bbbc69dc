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

	announced sync.Once
	known     chan struct{}   // closed when member is set
	member    pulumi.Resource // its membership, whose update is its upgrade
}

func newCanary(a TalosClusterArgs) *canary {
	return &canary{name: a.Canary, pause: a.CanaryPause, known: make(chan struct{})}
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

// await returns when the canary runs what it shall run, and has stood for the pause if it was upgraded in this run. The wait is in
// the hooks and not in the graph: a canary that is a worker is created after the control planes, but upgraded before them.
func (c *canary) await(ctx context.Context, node rolling.Node) error {
	if c.name == "" || c.is(node.Name) {
		return nil
	}
	select {
	case <-c.known:
	case <-ctx.Done():
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	if _, err := internals.UnsafeAwaitOutput(ctx, c.member.URN()); err != nil {
		return fmt.Errorf("%s is untouched, because %s, which is upgraded before all others, was not upgraded: mend that node, then run up again", node.Name, c.name)
	}
	return nil
}
