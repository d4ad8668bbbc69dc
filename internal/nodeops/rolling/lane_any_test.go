package rolling_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// TestTheLaneHoldsWhateverHappens runs some hundred random clusters through a lane. Nodes arrive in any order and at any
// time, are admitted or refused, changed, declined or abandoned, fail after the change, keep pods, and are interrupted. In
// every case: a control plane changes alone, no more workers change than allowed, and none after a node that does not work
// again. Each node gets a result, and a lane that is still open admits the next node.
func TestTheLaneHoldsWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			r := newRoll(seed)
			r.run()
			require.Empty(t, r.broken, "seed %d: %s", seed, r.plan)
		})
	}
}

// What happens to an admitted node.
const (
	leaves = iota
	declines
	abandons
	ends
)

// visitor is a node that arrives at the lane.
type visitor struct {
	change  rolling.Change
	arrives time.Duration
	// interrupted is the time from its arrival to the interrupt of its run; 0 for none.
	interrupted time.Duration
	end         int
	works       time.Duration // duration of its change
	lost        bool          // it does not work again
	held        bool          // its pods stay
	unspared    time.Duration // how long the cluster cannot do without it
}

// anyRoll runs visitors through a lane and records which ones are in it.
type anyRoll struct {
	lane     *rolling.Lane
	visitors []visitor
	most     int
	begun    time.Time
	plan     string

	mu       sync.Mutex
	inside   map[string]visitor
	closed   bool
	cordoned map[string]bool
	broken   []string
}

func newRoll(seed uint64) *anyRoll {
	random := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // no secret depends on it
	seconds := func(most int) time.Duration { return time.Duration(random.IntN(most)) * time.Second }
	r := &anyRoll{begun: time.Now(), most: 1 + random.IntN(3), inside: map[string]visitor{}, cordoned: map[string]bool{}}
	for i := range 2 + random.IntN(7) {
		node := worker(fmt.Sprintf("worker-%d", i))
		if random.IntN(3) == 0 {
			node = controlPlane(fmt.Sprintf("control-%d", i))
		}
		v := visitor{
			change: rolling.Change{
				Node: node, Reboots: random.IntN(2) == 0, Adds: random.IntN(8) == 0, Joins: node.ControlPlane && random.IntN(3) == 0,
			},
			arrives: seconds(90), end: random.IntN(4 * ends), works: seconds(60),
			lost: random.IntN(12) == 0, held: random.IntN(8) == 0, unspared: seconds(60),
		}
		if random.IntN(4) == 0 {
			v.interrupted = time.Second + seconds(300)
		}
		r.visitors = append(r.visitors, v)
		r.plan += fmt.Sprintf("\n%+v", v)
	}
	r.lane = rolling.NewLane(r, rolling.Options{MaxUnavailable: r.most})
	return r
}

// run runs all visitors, and then one more.
func (r *anyRoll) run() {
	var all sync.WaitGroup
	for _, v := range r.visitors {
		all.Go(func() { r.visit(v) })
	}
	all.Wait()
	last := rolling.Change{Node: controlPlane("control-last")}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.lane.Enter(ctx, last); (err != nil) != r.closed {
		r.say("it is closed: %v, and who comes last is told: %v", r.closed, err)
	}
	if !r.closed && len(r.cordoned) > 0 {
		r.say("these take no pods any more: %v", r.cordoned)
	}
}

func (r *anyRoll) visit(v visitor) {
	time.Sleep(v.arrives)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if v.interrupted > 0 {
		defer time.AfterFunc(v.interrupted, cancel).Stop()
	}
	r.mu.Lock()
	wasClosed := r.closed
	r.mu.Unlock()
	if err := r.lane.Enter(ctx, v.change); err != nil {
		return
	}
	if wasClosed {
		r.say("%s got in after a node that did not come back", v.change.Node.Name)
	}
	r.enters(v)
	time.Sleep(v.works)
	r.leaves(ctx, v)
}

// enters checks which nodes are in the lane together. A machine that is switched on removes nothing from the cluster.
func (r *anyRoll) enters(v visitor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside[v.change.Node.Name] = v
	controlPlanes, workers := 0, 0
	for _, other := range r.inside {
		switch {
		case other.change.Adds:
		case other.change.Node.ControlPlane:
			controlPlanes++
		default:
			workers++
		}
	}
	if controlPlanes > 1 || controlPlanes == 1 && workers > 0 || workers > r.most {
		r.sayLocked("%d control planes and %d workers of %d are changed at a time", controlPlanes, workers, r.most)
	}
}

func (r *anyRoll) leaves(ctx context.Context, v visitor) {
	name, closes := v.change.Node.Name, false
	switch v.end {
	case declines:
		r.isBack(name) // the node is unchanged
		if err := r.lane.Decline(ctx, v.change.Node); err != nil {
			r.say("%s: %v", name, err)
		}
	case abandons:
		r.lane.Abandon(v.change.Node)
		closes = true
	default:
		closes = r.lane.Leave(ctx, v.change.Node) != nil
	}
	r.isBack(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = r.closed || closes
}

// isBack removes a node from the record of the lane. It is called before the lane admits the next node.
func (r *anyRoll) isBack(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inside, name)
}

func (r *anyRoll) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sayLocked(format, args...)
}

func (r *anyRoll) sayLocked(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// Spare admits every node after a while, unless one is already lost.
func (r *anyRoll) Spare(_ context.Context, change rolling.Change, _ []rolling.Node) (rolling.Terms, error) {
	back := time.Now().Add(2 * time.Minute)
	lost := false
	for _, v := range r.visitors {
		if v.change.Node.Name == change.Node.Name && time.Since(r.begun) < v.arrives+v.unspared {
			return rolling.Terms{}, errors.New("another node is not Ready")
		}
		lost = lost || v.change.Node.Name == change.Node.Name && v.lost
	}
	return rolling.Terms{Drain: change.Reboots, Back: func(context.Context) error {
		if lost || time.Now().Before(back) {
			return errors.New("its Talos API does not answer")
		}
		r.isBack(change.Node.Name)
		return nil
	}}, nil
}

// IsOff implements [rolling.Cluster].
func (r *anyRoll) IsOff(context.Context, rolling.Node) bool { return false }

// Drain takes some time, during which it can be interrupted.
func (r *anyRoll) Drain(ctx context.Context, node rolling.Node) error {
	r.mu.Lock()
	r.cordoned[node.Name] = true
	r.mu.Unlock()
	select {
	case <-time.After(20 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, v := range r.visitors {
		if v.change.Node.Name == node.Name && v.held {
			return errors.New("a budget holds its pods back")
		}
	}
	return nil
}

func (r *anyRoll) Uncordon(_ context.Context, busy func() []rolling.Node) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := map[string]bool{}
	for _, node := range busy() {
		left[node.Name] = r.cordoned[node.Name]
	}
	for name := range r.cordoned {
		if !left[name] {
			delete(r.cordoned, name)
		}
	}
	return nil
}
