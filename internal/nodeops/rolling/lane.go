package rolling

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

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

// NewLane returns an open lane.
func NewLane(cluster Cluster, options Options) *Lane {
	return &Lane{cluster: cluster, options: options.withDefaults(), moved: make(chan struct{})}
}

// Enter returns when the node may be changed: it is the first in the queue or is off, the cluster can spare it, and it is drained if the change ends
// its boot. The caller must then call Leave, Decline, Fail or Abandon. If Enter returns an error, which states why the node is untouched and what to
// do, the caller must call none of them.
func (l *Lane) Enter(ctx context.Context, change Change) error {
	if change.Yields {
		l.yield(ctx, change.Node)
	}
	if err := l.takeTurn(ctx, change); err != nil {
		return err
	}
	terms, err := l.untilSpared(ctx, change)
	if err == nil && terms.Drain {
		err = l.drain(ctx, change)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.move()
	if err != nil {
		l.drop(change.Node)
	}
	return err
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

// yield waits a moment, so that nodes that arrive meanwhile queue first.
func (l *Lane) yield(ctx context.Context, node Node) {
	l.tell(node, "lets others go first")
	moment := time.NewTimer(l.options.Yield)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-ctx.Done(): // the queue returns why ctx has ended
	}
}

// untilSpared waits until the cluster can spare the node. While a control plane joins, the wait stands still: that one may be what the
// cluster lacks.
func (l *Lane) untilSpared(ctx context.Context, change Change) (terms Terms, err error) {
	for {
		terms, err = l.onceSpared(ctx, change)
		joins := new(joinsError)
		if !errors.As(err, &joins) {
			return terms, err
		}
		l.tell(change.Node, "waits for "+joins.node.Name+", which joins")
		l.untilGone(ctx, joins.node)
	}
}

func (l *Lane) onceSpared(ctx context.Context, change Change) (terms Terms, err error) {
	l.mu.Lock()
	patience := l.options.Patience
	if l.unwell {
		patience = 0
	}
	l.mu.Unlock()

	last := l.await(ctx, wait{change.Node, "the cluster cannot do without it now:", patience}, func(ctx context.Context) (err error) {
		l.mu.Lock()
		err = l.mayEnter(change)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		terms, err = l.cluster.Spare(ctx, change, l.visitors(change.Node)) // others may have entered meanwhile
		if err != nil {
			return err
		}
		return l.admit(change, terms)
	})
	if last == nil {
		return terms, nil
	}
	return Terms{}, l.notSpared(ctx, change.Node, last)
}

// notSpared returns why a node is not admitted, from the result of the last check. The next node does not wait as long, since what is wrong is
// likely wrong for it, too.
func (l *Lane) notSpared(ctx context.Context, node Node, last error) error {
	closed, joins, silent := new(closedError), new(joinsError), new(SilentError)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	case errors.As(last, &joins):
		return last
	case errors.As(last, &closed):
		return fmt.Errorf("%s is untouched, because %w", node.Name, last)
	}
	l.mu.Lock()
	l.unwell = true
	l.mu.Unlock()
	if errors.As(last, &silent) {
		return fmt.Errorf("%s is untouched, because %w: look at the console of its VM in Proxmox VE, reset the VM if it hangs, then run up again", node.Name, last)
	}
	return fmt.Errorf("%s is untouched, because the cluster cannot do without it now (%w): mend that, then run up again", node.Name, last)
}

// wait describes a wait for a node, with its message and its limit.
type wait struct {
	node  Node
	words string // precedes the result of the last check
	limit time.Duration
}

// saying returns what is waited for, and for how long.
func (w wait) saying(last error) string {
	if silent := new(SilentError); errors.As(last, &silent) {
		return fmt.Sprintf("%v (%s at most)", last, poll.InWords(w.limit))
	}
	return fmt.Sprintf("%s %v (%s at most)", w.words, last, poll.InWords(w.limit))
}

func (l *Lane) tell(node Node, what string) {
	if l.options.Tell != nil {
		l.options.Tell(node, what)
	}
}

// await checks, at least once, until the condition holds, cannot hold any more or the limit is reached. It returns the
// result of the last check.
func (l *Lane) await(ctx context.Context, w wait, holds Condition) error {
	deadline := time.Now().Add(w.limit)
	var reported string
	var last error
	_ = poll.Until(ctx, l.options.Interval, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		if last == nil || isFinal(last) || !time.Now().Before(deadline) {
			return true, nil
		}
		if what := w.saying(last); what != reported && ctx.Err() == nil {
			reported = what
			l.tell(w.node, what)
		}
		return false, nil
	}) // the result of the last check is returned in any case
	return last
}
