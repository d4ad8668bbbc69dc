package rolling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// Options of a lane.
type Options struct {
	// MaxUnavailable is how many workers are changed at a time. Default: 1. Control planes are always changed alone.
	MaxUnavailable int
	// Patience is how long the rest of the cluster may take to be well before a change is refused. Default: 5 minutes, in
	// which a node that has just joined becomes a member.
	Patience time.Duration
	// Recovery is how long a changed node may take to work again. Default: 15 minutes, for a reboot on slow hardware.
	Recovery time.Duration
	// Settle is how long a changed node has to work before the next one's turn: what ends soon after its start shows within
	// it, and so does what Talos takes up after it has answered. Default: 10 seconds.
	Settle time.Duration
	// Interval between two looks. Default: 2 seconds.
	Interval time.Duration
	// Tell is told what a node in the lane or before it waits for, and for how long at most, whenever that becomes another thing.
	// Default: nil, nobody.
	Tell func(node Node, what string)
}

func (o Options) withDefaults() Options {
	o.MaxUnavailable = max(o.MaxUnavailable, 1)
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Recovery == 0 {
		o.Recovery = 15 * time.Minute
	}
	if o.Settle == 0 {
		o.Settle = 10 * time.Second
	}
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	return o
}

// Lane lets the nodes of one cluster through, in the order in which they come. It is safe for concurrent use.
type Lane struct {
	cluster Cluster
	options Options

	mu     sync.Mutex
	queue  []Node
	inside []visit
	closed *closedError  // why nobody gets in any more
	unwell bool          // somebody was refused: who comes next does not wait as long for the same
	moved  chan struct{} // closed and made anew when one of the above changes
}

// visit is one node's stay in the lane.
type visit struct {
	node  Node
	terms Terms
}

// NewLane is an open lane.
func NewLane(cluster Cluster, options Options) *Lane {
	return &Lane{cluster: cluster, options: options.withDefaults(), moved: make(chan struct{})}
}

// Enter returns when the node may be changed: its turn has come or it is off, the cluster can do without it, and its pods
// are elsewhere if the change ends its boot. Leave, Decline or Abandon must follow. The error says why the node is untouched and
// what to do; nothing must follow then.
func (l *Lane) Enter(ctx context.Context, change Change) error {
	if err := l.takeTurn(ctx, change); err != nil {
		return err
	}
	terms, err := l.untilSpared(ctx, change)
	if err == nil && terms.Drain {
		err = l.drain(ctx, change.Node)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	if err != nil {
		l.drop(change.Node)
		return err
	}
	for i := range l.inside {
		if l.inside[i].node.Name == change.Node.Name {
			l.inside[i].terms = terms
		}
	}
	return nil
}

// Leave returns when the changed node works again and takes pods. When it does not, the lane is closed for all others, and
// the error says what the node lacks and what to do.
func (l *Lane) Leave(ctx context.Context, node Node) error {
	back := l.termsOf(node).Back
	if back == nil {
		l.giveBack(node, nil)
		return nil
	}
	last := l.await(ctx, wait{node, "it was changed, and", l.options.Recovery}, l.unlessOff(node, l.settled(back)))
	switch {
	case last == nil:
		last = l.uncordon(ctx, node)
	case ctx.Err() != nil:
		last = fmt.Errorf("waiting for %s: %w", node.Name, context.Cause(ctx))
	case errors.Is(last, errStaysOff):
		last = &offError{node: node.Name}
	default:
		last = &lostError{node: node.Name, after: l.options.Recovery, last: last}
	}
	l.giveBack(node, last)
	return last
}

// Decline gives back the place of a node that was let in and is not changed after all: it takes pods again, and the next one's turn
// comes. The error says that it takes none, and what to do.
func (l *Lane) Decline(ctx context.Context, node Node) (err error) {
	if l.termsOf(node).Drain {
		err = l.takeBackDrain(ctx, node)
	}
	l.giveBack(node, nil)
	return err
}

// giveBack gives the node's place back, or closes the lane for what has become of the node.
func (l *Lane) giveBack(node Node, problem error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	l.drop(node)
	if problem != nil {
		l.closed = &closedError{node: node.Name}
	}
}

// settled holds when a condition has held for a while without a break.
func (l *Lane) settled(holds Condition) Condition {
	var since time.Time
	return func(ctx context.Context) error {
		if err := holds(ctx); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < l.options.Settle {
			return errSettling
		}
		return nil
	}
}

// Abandon closes the lane, because the change of the node failed half way: nobody knows how the node is.
func (l *Lane) Abandon(node Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	l.drop(node)
	l.closed = &closedError{node: node.Name}
}

// takeTurn waits in the queue, and then takes a place in the lane. A machine that is switched on does not wait: the one before
// it may not be spared while it is off.
func (l *Lane) takeTurn(ctx context.Context, change Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	node := change.Node
	l.queue = append(l.queue, node)
	for {
		if l.closed != nil {
			l.leaveQueue(node)
			return fmt.Errorf("%s is untouched, because %w", node.Name, l.closed)
		}
		if change.SwitchesOn || l.queue[0] == node && l.hasRoomFor(node) {
			l.leaveQueue(node)
			l.inside = append(l.inside, visit{node: node})
			return nil
		}
		moved := l.moved
		l.mu.Unlock()
		l.tell(node, "waits for its turn")
		select {
		case <-moved:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			l.leaveQueue(node)
			return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
		}
	}
}

// untilSpared waits until the cluster can do without the node.
func (l *Lane) untilSpared(ctx context.Context, change Change) (terms Terms, err error) {
	l.mu.Lock()
	patience := l.options.Patience
	if l.unwell {
		patience = 0
	}
	busy := l.others(change.Node)
	l.mu.Unlock()

	last := l.await(ctx, wait{change.Node, "the cluster cannot do without it now:", patience}, func(ctx context.Context) (err error) {
		terms, err = l.cluster.Spare(ctx, change, busy)
		return err
	})
	switch {
	case last == nil:
		return terms, nil
	case ctx.Err() != nil:
		return Terms{}, fmt.Errorf("%s is untouched: %w", change.Node.Name, context.Cause(ctx))
	default:
		l.mu.Lock()
		l.unwell = true
		l.mu.Unlock()
		return Terms{}, fmt.Errorf("%s is untouched, because the cluster cannot do without it now (%w): mend that, then run up again", change.Node.Name, last)
	}
}

// wait is that of a node, as it is told, for a time at most.
type wait struct {
	node  Node
	words string // before what the last look found
	limit time.Duration
}

// inWords is a time in minutes, or in seconds where it is shorter.
func inWords(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

func (l *Lane) tell(node Node, what string) {
	if l.options.Tell != nil {
		l.options.Tell(node, what)
	}
}

// await looks until a condition holds or waiting does not help, at least once; its error is what the last look found.
func (l *Lane) await(ctx context.Context, w wait, holds Condition) error {
	deadline := time.Now().Add(w.limit)
	var told string
	var last error
	_ = poll.Until(ctx, l.options.Interval, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		if last == nil || errors.Is(last, errStaysOff) || !time.Now().Before(deadline) {
			return true, nil
		}
		if what := fmt.Sprintf("%s %v (%s at most)", w.words, last, inWords(w.limit)); what != told && ctx.Err() == nil {
			told = what
			l.tell(w.node, what)
		}
		return false, nil
	}) // whoever ends the wait is told what the last look found
	return last
}

// hasRoomFor: without a control plane the cluster has less to spare, so nothing else is changed beside one.
func (l *Lane) hasRoomFor(node Node) bool {
	if node.ControlPlane {
		return len(l.inside) == 0
	}
	return len(l.inside) < l.options.MaxUnavailable &&
		!slices.ContainsFunc(l.inside, func(v visit) bool { return v.node.ControlPlane })
}

// others are the nodes that are being changed beside this one.
func (l *Lane) others(node Node) []Node {
	var nodes []Node
	for _, v := range l.inside {
		if v.node.Name != node.Name {
			nodes = append(nodes, v.node)
		}
	}
	return nodes
}

// visitors are those that are being changed beside this one.
func (l *Lane) visitors(node Node) []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.others(node)
}

// termsOf are those of a node in the lane. One without a place has nothing to give back.
func (l *Lane) termsOf(node Node) Terms {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.inside {
		if v.node.Name == node.Name {
			return v.terms
		}
	}
	return Terms{}
}

func (l *Lane) leaveQueue(node Node) {
	if i := slices.Index(l.queue, node); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.move()
}

func (l *Lane) drop(node Node) {
	l.inside = slices.DeleteFunc(l.inside, func(v visit) bool { return v.node.Name == node.Name })
}

// move wakes all who wait.
func (l *Lane) move() {
	close(l.moved)
	l.moved = make(chan struct{})
}
