package rolling

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// visit is one node's place in the lane.
type visit struct {
	node     Node
	terms    Terms
	minReady time.Duration
	joins    bool
	admitted bool // the cluster spares it, so it may change at any moment
}

// takeTurn waits in the queue and then takes a place in the lane. A node that is added does not wait, because the one ahead of it may wait
// for exactly this node.
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
		if change.Adds || change.Joins && l.isUntouched() || l.queue[0] == node && l.hasRoomFor(node) {
			l.leaveQueue(node)
			l.inside = append(l.inside, visit{node: node, minReady: max(change.MinReady, l.options.MinReady), joins: change.Joins, admitted: node == whole})
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

// hasRoomFor reports whether a node may enter now. A control plane changes alone, because without it the cluster has less
// redundancy.
func (l *Lane) hasRoomFor(node Node) bool {
	if node.ControlPlane {
		return len(l.inside) == 0
	}
	return len(l.inside) < l.options.MaxUnavailable &&
		!slices.ContainsFunc(l.inside, func(v visit) bool { return v.node.ControlPlane })
}

// isUntouched reports whether all nodes in the lane still wait for the cluster, and none of them joins.
func (l *Lane) isUntouched() bool {
	return !slices.ContainsFunc(l.inside, func(v visit) bool { return v.admitted || v.joins })
}

// admit marks a node that the cluster spares on these terms as admitted, unless [Lane.mayEnter] returns an error.
func (l *Lane) admit(change Change, terms Terms) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayEnter(change); err != nil {
		return err
	}
	for i := range l.inside {
		if l.inside[i].node.Name == change.Node.Name {
			l.inside[i].terms, l.inside[i].admitted = terms, true
		}
	}
	return nil
}

// mayEnter returns why a node that waits for the cluster may not be changed, regardless of the state of the cluster: the lane was closed meanwhile,
// or a control plane that joins has arrived. The caller holds the lock.
func (l *Lane) mayEnter(change Change) error {
	if l.closed != nil {
		return l.closed
	}
	at := slices.IndexFunc(l.inside, func(v visit) bool { return v.joins && v.node.Name != change.Node.Name })
	if at < 0 || change.Adds {
		return nil
	}
	return &joinsError{node: l.inside[at].node}
}

// untilGone waits until a node has no place in the lane. The limits of that node's own change bound this wait.
func (l *Lane) untilGone(ctx context.Context, node Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for slices.ContainsFunc(l.inside, func(v visit) bool { return v.node.Name == node.Name }) && ctx.Err() == nil {
		moved := l.moved
		l.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
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
