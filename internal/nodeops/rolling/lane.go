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
	// MaxUnavailable is the number of workers that change at a time. Default: 1. Control planes always change alone.
	MaxUnavailable int
	// Patience is how long a change waits for the rest of the cluster to be healthy before it is refused. Default: 5 minutes,
	// in which a node that has just joined becomes a member.
	Patience time.Duration
	// Recovery is the longest time until a changed node works again. Default: 15 minutes, for a reboot on slow hardware.
	Recovery time.Duration
	// MinReady is how long a changed node must work before the next node may change. It reveals a node that fails soon after
	// its start, and changes that Talos starts only after its answer. Default: 10 seconds.
	MinReady time.Duration
	// Yield is how long a node that yields waits for others before it queues. Default: 5 seconds, in which all nodes of one
	// upgrade arrive.
	Yield time.Duration
	// Interval between two checks. Default: half a second.
	Interval time.Duration
	// Tell receives what a node in the lane or its queue waits for, and the longest time, each time that changes. Default:
	// nil, no messages.
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
	if o.MinReady == 0 {
		o.MinReady = 10 * time.Second
	}
	if o.Yield == 0 {
		o.Yield = 5 * time.Second
	}
	if o.Interval == 0 {
		o.Interval = 500 * time.Millisecond
	}
	return o
}

// Lane admits the nodes of one cluster in the order of their arrival. It is safe for concurrent use.
type Lane struct {
	cluster Cluster
	options Options

	mu     sync.Mutex
	queue  []Node
	inside []visit
	closed *closedError  // why no node is admitted any more
	unwell bool          // a node was refused: the next one does not wait as long for the same problem
	moved  chan struct{} // closed and replaced when one of the fields above changes
}

// visit is one node's place in the lane.
type visit struct {
	node     Node
	terms    Terms
	minReady time.Duration
}

// NewLane returns an open lane.
func NewLane(cluster Cluster, options Options) *Lane {
	return &Lane{cluster: cluster, options: options.withDefaults(), moved: make(chan struct{})}
}

// Enter returns when the node may be changed: it is the first in the queue or is off, the cluster can spare it, and it is
// drained if the change ends its boot. The caller must then call Leave, Decline or Abandon. The error states why the node is
// untouched and what to do; none of them must be called then.
func (l *Lane) Enter(ctx context.Context, change Change) error {
	if change.Yields {
		l.yield(ctx, change.Node)
	}
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

// Leave returns when the changed node works again and is uncordoned. If it does not work again, the lane closes for all
// others, and the error states what the node lacks and what to do.
func (l *Lane) Leave(ctx context.Context, node Node) error {
	place := l.placeOf(node)
	back := place.terms.Back
	if back == nil {
		l.giveBack(node, nil)
		return nil
	}
	limit := wait{node, "it was changed, and", l.options.Recovery + place.minReady}
	last := l.await(ctx, limit, l.unlessOff(node, lasting(back, place.minReady)))
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

// Decline releases the place of a node that was admitted but is not changed, and uncordons the node. The error states that
// the node is still cordoned, and what to do.
func (l *Lane) Decline(ctx context.Context, node Node) (err error) {
	if l.placeOf(node).terms.Drain {
		err = l.takeBackDrain(ctx, node)
	}
	l.giveBack(node, nil)
	return err
}

// giveBack releases the node's place, and closes the lane if there is a problem with the node.
func (l *Lane) giveBack(node Node, problem error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	l.drop(node)
	if problem != nil {
		l.closed = &closedError{node: node.Name}
	}
}

// lasting returns a condition that holds when another one has held for a while without a break.
func lasting(holds Condition, while time.Duration) Condition {
	var since time.Time
	return func(ctx context.Context) error {
		if err := holds(ctx); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < while {
			return errTooSoon
		}
		return nil
	}
}

// Abandon closes the lane because the change of the node failed half way: the state of the node is unknown.
func (l *Lane) Abandon(node Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	l.drop(node)
	l.closed = &closedError{node: node.Name}
}

// yield waits a moment, so that nodes that arrive in it queue first.
func (l *Lane) yield(ctx context.Context, node Node) {
	l.tell(node, "lets others go first")
	moment := time.NewTimer(l.options.Yield)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-ctx.Done(): // the queue says why
	}
}

// takeTurn waits in the queue and then takes a place in the lane. A machine that is switched on does not wait, because the
// node ahead of it may wait for exactly this machine.
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
			l.inside = append(l.inside, visit{node: node, minReady: max(change.MinReady, l.options.MinReady)})
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

// untilSpared waits until the cluster can spare the node.
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

// wait describes a wait for a node, with its message and its limit.
type wait struct {
	node  Node
	words string // precedes the result of the last check
	limit time.Duration
}

func (l *Lane) tell(node Node, what string) {
	if l.options.Tell != nil {
		l.options.Tell(node, what)
	}
}

// await checks, at least once, until the condition holds, the machine stays off or the limit is reached. It returns the
// result of the last check.
func (l *Lane) await(ctx context.Context, w wait, holds Condition) error {
	deadline := time.Now().Add(w.limit)
	var told string
	var last error
	_ = poll.Until(ctx, l.options.Interval, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		if last == nil || errors.Is(last, errStaysOff) || !time.Now().Before(deadline) {
			return true, nil
		}
		if what := fmt.Sprintf("%s %v (%s at most)", w.words, last, poll.InWords(w.limit)); what != told && ctx.Err() == nil {
			told = what
			l.tell(w.node, what)
		}
		return false, nil
	}) // the result of the last check is returned in any case
	return last
}

// hasRoomFor reports whether a node may enter now. A control plane changes alone, because without it the cluster has less
// redundancy.
func (l *Lane) hasRoomFor(node Node) bool {
	if node.ControlPlane {
		return len(l.inside) == 0
	}
	return len(l.inside) < l.options.MaxUnavailable &&
		!slices.ContainsFunc(l.inside, func(v visit) bool { return v.node.ControlPlane })
}

// others returns the other nodes in the lane. The caller holds the lock.
func (l *Lane) others(node Node) []Node {
	var nodes []Node
	for _, v := range l.inside {
		if v.node.Name != node.Name {
			nodes = append(nodes, v.node)
		}
	}
	return nodes
}

// visitors returns the other nodes in the lane.
func (l *Lane) visitors(node Node) []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.others(node)
}

// placeOf returns the place of a node in the lane; zero for a node without one.
func (l *Lane) placeOf(node Node) visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.inside {
		if v.node.Name == node.Name {
			return v
		}
	}
	return visit{}
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

// move wakes all waiting nodes.
func (l *Lane) move() {
	close(l.moved)
	l.moved = make(chan struct{})
}
