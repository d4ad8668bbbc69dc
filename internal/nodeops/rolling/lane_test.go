package rolling_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// cluster is a cluster whose nodes need a minute to work again after a change, unless they are lost.
type cluster struct {
	unwell error           // the error of Spare
	until  time.Time       // when Spare stops returning it; zero for never
	exempt string          // the node for which Spare does not return it
	lost   map[string]bool // nodes that do not work again
	off    map[string]bool // nodes whose machines are off
	busy   [][]string      // the busy nodes at each call of Spare that succeeded
	flaps  time.Duration   // how long a node works before it fails once more, for a minute
	held   error           // the error of Drain
	drains time.Duration   // how long Drain takes
	log    []string        // the changes to pods, in order

	cordoned error // the error of Uncordon
}

func (c *cluster) Spare(_ context.Context, change rolling.Change, busy []rolling.Node) (rolling.Terms, error) {
	if c.unwell != nil && change.Node.Name != c.exempt && (c.until.IsZero() || time.Now().Before(c.until)) {
		return rolling.Terms{}, c.unwell
	}
	names := []string{}
	for _, node := range busy {
		names = append(names, node.Name)
	}
	c.busy = append(c.busy, names)
	back := time.Now().Add(time.Minute)
	return rolling.Terms{Drain: change.Reboots, Back: func(context.Context) error {
		now := time.Now()
		if c.lost[change.Node.Name] || now.Before(back) {
			return errors.New("its Talos API does not answer")
		}
		if failed := back.Add(c.flaps); c.flaps > 0 && !now.Before(failed) && now.Before(failed.Add(time.Minute)) {
			return errors.New("its kube-apiserver does not run (CrashLoopBackOff)")
		}
		return nil
	}}, nil
}

func (c *cluster) IsOff(_ context.Context, node rolling.Node) bool { return c.off[node.Name] }

func (c *cluster) Drain(_ context.Context, node rolling.Node) error {
	c.log = append(c.log, "drain "+node.Name)
	<-time.After(c.drains)
	return c.held
}

func (c *cluster) Uncordon(_ context.Context, busy func() []rolling.Node) error {
	entry := "uncordon"
	for _, node := range busy() {
		entry += " but " + node.Name
	}
	c.log = append(c.log, entry)
	return c.cordoned
}

func controlPlane(name string) rolling.Node {
	return rolling.Node{Name: name, Address: netip.MustParseAddr("192.168.20.11"), ControlPlane: true}
}

func worker(name string) rolling.Node {
	return rolling.Node{Name: name, Address: netip.MustParseAddr("192.168.20.21")}
}

// roll changes nodes in parallel, as the engine does. Each one arrives after the one before it. It returns the result of each
// node, and the names of the nodes that were admitted.
func roll(lane *rolling.Lane, nodes ...rolling.Node) (errs map[string]error, changed []string) {
	type end struct {
		name    string
		changed bool
		err     error
	}
	ends := make(chan end, len(nodes))
	for _, node := range nodes {
		go func() {
			if err := lane.Enter(context.Background(), rolling.Change{Node: node}); err != nil {
				ends <- end{node.Name, false, err}
				return
			}
			ends <- end{node.Name, true, lane.Leave(context.Background(), node)}
		}()
		synctest.Wait()
	}
	errs = map[string]error{}
	for range nodes {
		e := <-ends
		errs[e.name] = e.err
		if e.changed {
			changed = append(changed, e.name)
		}
	}
	slices.Sort(changed)
	return errs, changed
}

func TestNodesGoOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		began := time.Now()
		errs, _ := roll(rolling.NewLane(c, rolling.Options{}), controlPlane("control-1"), controlPlane("control-2"), worker("worker-1"), worker("worker-2"))
		for name, err := range errs {
			require.NoError(t, err, name)
		}
		require.Equal(t, [][]string{{}, {}, {}, {}}, c.busy, "never two at a time")
		polltest.Lasted(t, 4*(time.Minute+10*time.Second), began) // a minute to come back, ten seconds in which it must stay ready
	})
}

func TestWorkersGoAsManyAtATimeAsIsAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		began := time.Now()
		errs, _ := roll(rolling.NewLane(c, rolling.Options{MaxUnavailable: 2}), worker("worker-1"), worker("worker-2"), controlPlane("control-1"), worker("worker-3"))
		for name, err := range errs {
			require.NoError(t, err, name)
		}
		require.Equal(t, [][]string{{}, {"worker-1"}, {}, {}}, c.busy, "two workers together, the control plane alone, nobody past it")
		polltest.Lasted(t, 3*(time.Minute+10*time.Second), began)
	})
}

func TestAChangeWaitsUntilTheRestIsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{unwell: errors.New("control-2 is a learner"), until: time.Now().Add(2 * time.Minute)}
		errs, _ := roll(rolling.NewLane(c, rolling.Options{}), controlPlane("control-1"))
		require.NoError(t, errs["control-1"])
	})
}

func TestAChangeIsRefusedWhenTheRestStaysUnwell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{unwell: errors.New("node control-3: its Talos API does not answer")}
		lane := rolling.NewLane(c, rolling.Options{Patience: time.Minute, Interval: time.Second})
		began := time.Now()
		errs, changed := roll(lane, controlPlane("control-1"), controlPlane("control-2"))
		require.Empty(t, changed)
		require.EqualError(t, errs["control-1"], "control-1 is untouched, because the cluster cannot do without it now (node control-3: its Talos API does not answer): mend that, then run up again")
		require.EqualError(t, errs["control-2"], "control-2 is untouched, because the cluster cannot do without it now (node control-3: its Talos API does not answer): mend that, then run up again")
		polltest.Lasted(t, time.Minute, began) // the second node does not wait for the same problem again

		c.unwell = nil
		errs, _ = roll(lane, controlPlane("control-3"))
		require.NoError(t, errs["control-3"], "the node that is down is the one that may be changed")
	})
}

func TestANodeThatDoesNotComeBackClosesTheLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{lost: map[string]bool{"control-2": true}}
		lane := rolling.NewLane(c, rolling.Options{Recovery: 10 * time.Minute})
		errs, changed := roll(lane, controlPlane("control-1"), controlPlane("control-2"), controlPlane("control-3"), worker("worker-1"))
		require.Equal(t, []string{"control-1", "control-2"}, changed)
		require.NoError(t, errs["control-1"])
		require.EqualError(t, errs["control-2"], "control-2 does not work 10m0s after its change (its Talos API does not answer): look at the console of its VM in Proxmox VE; no other node is touched until it works again")
		require.EqualError(t, errs["control-3"], "control-3 is untouched, because control-2 did not come back from its change: mend that node, then run up again")
		require.EqualError(t, errs["worker-1"], "worker-1 is untouched, because control-2 did not come back from its change: mend that node, then run up again")
	})
}

// TestAMachineThatStaysOffIsNotWaitedFor: the start within a reboot failed, and the reboot task does not report it.
func TestAMachineThatStaysOffIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{lost: map[string]bool{"worker-1": true}, off: map[string]bool{"worker-1": true}}
		lane := rolling.NewLane(c, rolling.Options{})
		began := time.Now()
		errs, _ := roll(lane, worker("worker-1"))
		require.EqualError(t, errs["worker-1"], "worker-1 did not come back from its change, because its machine stays off: see in the tasks of Proxmox VE why its start failed, "+
			"mend that or take the change back, then `em-infra up` starts it; no other node is touched until it works again")
		polltest.Lasted(t, 30*time.Second, began)
	})
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{off: map[string]bool{"worker-1": true}}
		lane := rolling.NewLane(c, rolling.Options{})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: true}))
		time.AfterFunc(29*time.Second, func() { delete(c.off, "worker-1") })
		require.NoError(t, lane.Leave(t.Context(), worker("worker-1")), "a machine is off for a moment in each reboot")
	})
}

func TestAChangeThatFailsClosesTheLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lane := rolling.NewLane(&cluster{}, rolling.Options{})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1")}))
		waiting := make(chan error, 1)
		go func() { waiting <- lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}) }()
		synctest.Wait()

		lane.Abandon(worker("worker-1"))
		require.EqualError(t, <-waiting, "worker-2 is untouched, because worker-1 did not come back from its change: mend that node, then run up again")
	})
}

// TestANodeThatWaitsKnowsWhoEntersMeanwhile: one that reboots is not Ready, which is no reason to refuse the one that waits.
func TestANodeThatWaitsKnowsWhoEntersMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{unwell: errors.New("worker-3 is not Ready"), until: time.Now().Add(time.Minute), exempt: "worker-2"}
		lane := rolling.NewLane(c, rolling.Options{MaxUnavailable: 2, Patience: 5 * time.Minute})
		waits := make(chan error, 1)
		go func() { waits <- lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1")}) }()
		synctest.Wait()
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}))
		require.NoError(t, <-waits)
		require.Equal(t, [][]string{{"worker-1"}, {"worker-2"}}, c.busy)
	})
}

// TestANodeWhoseChangeFailsTakesPodsAgain checks that such a node takes pods again if it runs, and that no other node enters before the lane is
// closed.
func TestANodeWhoseChangeFailsTakesPodsAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reboots  bool
		runs     error
		cordoned error
		want     string
		log      []string
	}{
		"it runs":            {reboots: true, log: []string{"uncordon but worker-1", "drain worker-1", "uncordon"}},
		"it was not drained": {runs: errors.New("not asked")},
		"it does not run": {
			reboots: true, runs: errors.New("it is in stage rebooting"), log: []string{"uncordon but worker-1", "drain worker-1"},
			want: "worker-1 takes no new pods, because it was drained and does not run (it is in stage rebooting): mend that node, then run up again, or run `kubectl uncordon worker-1` when it runs",
		},
		"no API server": {
			reboots: true, cordoned: errors.New("the API server does not answer"), log: []string{"uncordon but worker-1", "drain worker-1", "uncordon"},
			want: "worker-1 takes no new pods (the API server does not answer): run `kubectl uncordon worker-1`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{}
				lane := rolling.NewLane(c, rolling.Options{})
				require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: test.reboots}))
				c.cordoned = test.cordoned
				waiting := make(chan error, 1)
				go func() { waiting <- lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2"), Reboots: true}) }()
				synctest.Wait()
				interrupted, interrupt := context.WithCancel(t.Context())
				interrupt()
				err := lane.Fail(interrupted, worker("worker-1"), func(ctx context.Context) error {
					require.NoError(t, ctx.Err(), "it is looked at, and takes pods, after an interrupt, too")
					require.EqualError(t, <-waiting, "worker-2 is untouched, because worker-1 did not come back from its change: mend that node, then run up again")
					waiting <- nil
					return test.runs
				})
				if test.want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, test.want)
				}
				<-waiting
				require.Equal(t, test.log, c.log)
			})
		})
	}
}

func TestAnInterruptEndsAllWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		c := &cluster{lost: map[string]bool{"worker-1": true}}
		lane := rolling.NewLane(c, rolling.Options{})
		require.NoError(t, lane.Enter(ctx, rolling.Change{Node: worker("worker-1")}))
		waiting, leaving := make(chan error, 1), make(chan error, 1)
		go func() { waiting <- lane.Enter(ctx, rolling.Change{Node: worker("worker-2")}) }()
		go func() { leaving <- lane.Leave(ctx, worker("worker-1")) }()
		synctest.Wait()

		interrupt(errors.New("interrupted"))
		require.EqualError(t, <-waiting, "worker-2 is untouched: interrupted")
		require.EqualError(t, <-leaving, "waiting for worker-1: interrupted")

		c.unwell = errors.New("unwell")
		require.EqualError(t, rolling.NewLane(c, rolling.Options{}).Enter(ctx, rolling.Change{Node: worker("worker-3")}), "worker-3 is untouched: interrupted")
	})
}

func TestWhoHasNotEnteredHasNothingToGiveBack(t *testing.T) {
	t.Parallel()
	require.NoError(t, rolling.NewLane(&cluster{}, rolling.Options{}).Leave(t.Context(), worker("worker-1")))
}

func TestANodeThatWorksForAMomentHasNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{flaps: 5 * time.Second}
		began := time.Now()
		errs, _ := roll(rolling.NewLane(c, rolling.Options{}), controlPlane("control-1"))
		require.NoError(t, errs["control-1"])
		polltest.Lasted(t, 2*time.Minute+15*time.Second, began) // the wait goes on until a component that ends soon after its start stays up

		c.lost = map[string]bool{"control-2": true}
		errs, _ = roll(rolling.NewLane(c, rolling.Options{Recovery: time.Minute}), controlPlane("control-2"))
		require.ErrorContains(t, errs["control-2"], "control-2 does not work 1m0s after its change")
	})
}

func TestPodsMoveBeforeAChangeThatReboots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		lane := rolling.NewLane(c, rolling.Options{MaxUnavailable: 2})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: true}))
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}))
		require.NoError(t, lane.Leave(t.Context(), worker("worker-1")))
		require.NoError(t, lane.Leave(t.Context(), worker("worker-2")))
		require.Equal(t, []string{"uncordon but worker-1", "drain worker-1", "uncordon but worker-2", "uncordon"}, c.log)
	})
}

func TestANodeWhosePodsStayIsNotTouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{held: errors.New("worker-1 is not drained: let the pods move")}
		lane := rolling.NewLane(c, rolling.Options{})
		err := lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: true})
		require.EqualError(t, err, "worker-1 is untouched: worker-1 is not drained: let the pods move")
		require.Equal(t, []string{"uncordon but worker-1", "drain worker-1", "uncordon"}, c.log, "what was begun is taken back")
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}), "its place is free")
	})
}

func TestANodeThatIsNotChangedAfterAllTakesPodsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		lane := rolling.NewLane(c, rolling.Options{})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: true}))
		interrupted, interrupt := context.WithCancel(t.Context())
		interrupt()
		require.NoError(t, lane.Decline(interrupted, worker("worker-1")))
		require.Equal(t, []string{"uncordon but worker-1", "drain worker-1", "uncordon"}, c.log)
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}), "its place is free")
		require.NoError(t, lane.Decline(t.Context(), worker("worker-2")))
		require.Equal(t, []string{"uncordon but worker-1", "drain worker-1", "uncordon"}, c.log, "what was not drained is not cordoned")

		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-3"), Reboots: true}))
		c.cordoned = errors.New("the API server does not answer")
		require.EqualError(t, lane.Decline(t.Context(), worker("worker-3")),
			"worker-3 takes no new pods (the API server does not answer): run `kubectl uncordon worker-3`")
	})
}

// TestASilentNodeIsNotTheClustersFault checks that the messages are about the node itself.
func TestASilentNodeIsNotTheClustersFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		c := &cluster{unwell: &rolling.SilentError{Unknown: "whether its configuration reboots it", Err: errors.New("its Talos API does not answer")}}
		lane := rolling.NewLane(c, rolling.Options{Tell: func(_ rolling.Node, what string) { reported = append(reported, what) }})
		require.EqualError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1")}),
			"worker-1 is untouched, because whether its configuration reboots it is not known (its Talos API does not answer): look at the console of its VM in Proxmox VE, reset the VM if it hangs, then run up again")
		require.Equal(t, []string{"whether its configuration reboots it is not known (its Talos API does not answer) (5 min at most)"}, reported)
		c.unwell = nil
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2")}), "its place is free")
	})
}

// TestADrainNeedsNodesThatTakePods checks that nodes that an ended run has left cordoned take pods again before a drain, and that nothing is drained
// while this is not known.
func TestADrainNeedsNodesThatTakePods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{cordoned: errors.New("the API server does not answer")}
		lane := rolling.NewLane(c, rolling.Options{MaxUnavailable: 2, Interval: time.Minute})
		began := time.Now()
		require.EqualError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1"), Reboots: true}),
			"worker-1 is untouched, because nodes that a run has drained may still take no pods (the API server does not answer): run up again when an API server answers")
		polltest.Lasted(t, 2*time.Minute, began)
		require.NotContains(t, c.log, "drain worker-1")

		c.cordoned, c.log = nil, nil
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2"), Reboots: true}), "its place is free")
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-3"), Reboots: true}))
		require.Equal(t, []string{
			"uncordon but worker-2", "drain worker-2",
			"uncordon but worker-2 but worker-3", "drain worker-3",
		}, c.log, "who is being changed stays cordoned")
	})
}

// TestAControlPlaneIsLookedAtAgainAfterItsDrain, since the cluster may have lost another one meanwhile.
func TestAControlPlaneIsLookedAtAgainAfterItsDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{drains: 8 * time.Minute}
		lane := rolling.NewLane(c, rolling.Options{})
		time.AfterFunc(3*time.Minute, func() { c.unwell = errors.New("control-2 is no member of etcd that votes") })
		began := time.Now()
		require.EqualError(t, lane.Enter(t.Context(), rolling.Change{Node: controlPlane("control-1"), Reboots: true}),
			"control-1 is untouched, because the cluster cannot do without it now (control-2 is no member of etcd that votes): mend that, then run up again")
		polltest.Lasted(t, 13*time.Minute, began) // the other one may just reboot
		require.Equal(t, []string{"uncordon but control-1", "drain control-1", "uncordon"}, c.log, "what was begun is taken back")

		c.unwell = nil
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: controlPlane("control-1"), Reboots: true}), "its place is free")
	})
}

// TestWhatAnEndedRunHasCordonedIsTakenBack checks that a cordon that an ended run has left is removed as soon as the API server answers.
func TestWhatAnEndedRunHasCordonedIsTakenBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		lane := rolling.NewLane(c, rolling.Options{Interval: time.Second})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-2"), Reboots: true}))
		require.NoError(t, lane.TakeBack(t.Context(), worker("worker-1")))
		require.Equal(t, []string{"uncordon but worker-2", "drain worker-2", "uncordon but worker-2"}, c.log)

		began := time.Now()
		c.cordoned = errors.New("the API server does not answer")
		require.EqualError(t, lane.TakeBack(t.Context(), worker("worker-1")),
			"worker-1 may take no new pods (the API server does not answer): run `kubectl uncordon worker-1` when an API server answers")
		polltest.Lasted(t, 2*time.Minute, began)
	})
}

// TestAMachineThatIsSwitchedOnDoesNotWaitForItsTurn: the control plane ahead of it is not spared while a worker is off.
func TestAMachineThatIsSwitchedOnDoesNotWaitForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{unwell: errors.New("node w-1 is not Ready")}
		lane := rolling.NewLane(c, rolling.Options{})
		waits := make(chan error, 1)
		go func() { waits <- lane.Enter(t.Context(), rolling.Change{Node: controlPlane("cp-1")}) }()
		synctest.Wait()
		began := time.Now()
		c.exempt = "w-1"
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("w-1"), Adds: true}))
		require.Zero(t, time.Since(began))
		c.until = time.Now().Add(time.Second) // it is Ready from then on
		require.NoError(t, lane.Leave(t.Context(), worker("w-1")))
		require.NoError(t, <-waits)
		require.NoError(t, lane.Leave(t.Context(), controlPlane("cp-1")))

		lane.Abandon(controlPlane("cp-1"))
		require.EqualError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("w-1"), Adds: true}),
			"w-1 is untouched, because cp-1 did not come back from its change: mend that node, then run up again")
	})
}

// TestTheLaneTellsWhatANodeWaitsFor checks that each wait is reported once, with its limit.
func TestTheLaneTellsWhatANodeWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		lane := rolling.NewLane(&cluster{unwell: errors.New("worker-2 is not Ready"), until: time.Now().Add(time.Minute), exempt: "worker-1"}, rolling.Options{
			Tell: func(node rolling.Node, what string) { reported = append(reported, node.Name+": "+what) },
		})
		errs, changed := roll(lane, worker("worker-1"), worker("worker-3"))
		require.Equal(t, map[string]error{"worker-1": nil, "worker-3": nil}, errs)
		require.Equal(t, []string{"worker-1", "worker-3"}, changed)
		require.ElementsMatch(t, []string{ // the first two at the same time
			"worker-3: waits for its turn",
			"worker-1: it was changed, and its Talos API does not answer (15 min at most)",
			"worker-1: it was changed, and it has worked again for a moment only (15 min at most)",
			"worker-3: it was changed, and its Talos API does not answer (15 min at most)",
			"worker-3: it was changed, and it has worked again for a moment only (15 min at most)",
		}, reported)

		reported = nil
		lane = rolling.NewLane(&cluster{unwell: errors.New("worker-2 is not Ready"), until: time.Now().Add(time.Minute)}, rolling.Options{
			Tell: func(node rolling.Node, what string) { reported = append(reported, node.Name+": "+what) },
		})
		require.NoError(t, lane.Enter(t.Context(), rolling.Change{Node: worker("worker-1")}))
		require.Equal(t, []string{"worker-1: the cluster cannot do without it now: worker-2 is not Ready (5 min at most)"}, reported)
	})
}

// TestALeaderYields checks that a leader yields to nodes that arrive soon after it, but only for a moment.
func TestALeaderYields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		lane := rolling.NewLane(&cluster{}, rolling.Options{})
		began := time.Now()
		done := make(chan error)
		for _, change := range []rolling.Change{{Node: controlPlane("leader"), Yields: true}, {Node: controlPlane("control-2")}, {Node: controlPlane("control-3")}} {
			go func() {
				err := lane.Enter(context.Background(), change)
				order = append(order, change.Node.Name)
				done <- errors.Join(err, lane.Leave(context.Background(), change.Node))
			}()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		for range 3 {
			require.NoError(t, <-done)
		}
		require.Equal(t, []string{"control-2", "control-3", "leader"}, order)

		began = time.Now()
		require.NoError(t, lane.Enter(context.Background(), rolling.Change{Node: controlPlane("leader"), Yields: true}))
		require.Equal(t, 5*time.Second, time.Since(began), "it does not wait for other nodes if there are none")
	})
}

// TestHowLongANodeMustStayReady checks that a node must stay ready for longer than others if its change requires it, and may take that much longer.
func TestHowLongANodeMustStayReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lane := rolling.NewLane(&cluster{}, rolling.Options{Recovery: 2 * time.Minute})
		for _, test := range []struct{ wants, stays time.Duration }{
			{time.Hour, time.Hour},
			{time.Second, 10 * time.Second}, // that of the lane
		} {
			began := time.Now()
			change := rolling.Change{Node: worker("canary"), MinReady: test.wants}
			require.NoError(t, lane.Enter(context.Background(), change))
			require.NoError(t, lane.Leave(context.Background(), change.Node))
			polltest.Lasted(t, time.Minute+test.stays, began)
		}
	})
}

// TestAControlPlaneThatJoinsGoesBeforeThoseThatWait: the cluster may lack exactly the control plane that joins, which arrives last because its
// machine is created first. The nodes that wait for the cluster go after it, regardless of how long it takes, and not at all if it fails.
func TestAControlPlaneThatJoinsGoesBeforeThoseThatWait(t *testing.T) {
	t.Parallel()
	joins := rolling.Change{Node: controlPlane("control-3"), Joins: true}
	for _, test := range []struct {
		name string
		end  func(ctx context.Context, lane *rolling.Lane) error
		want string
	}{
		{"it joins", func(ctx context.Context, lane *rolling.Lane) error { return lane.Leave(ctx, joins.Node) }, ""},
		{"it fails", func(_ context.Context, lane *rolling.Lane) error { lane.Abandon(joins.Node); return nil },
			"control-1 is untouched, because control-3 did not come back from its change: mend that node, then run up again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{unwell: errors.New("control-3 is no member yet"), exempt: joins.Node.Name}
				lane := rolling.NewLane(c, rolling.Options{Patience: 30 * time.Second})
				entered := make(chan error, 1)
				go func() { entered <- lane.Enter(t.Context(), rolling.Change{Node: controlPlane("control-1")}) }()
				<-time.After(10 * time.Second)
				require.NoError(t, lane.Enter(t.Context(), joins))
				<-time.After(2 * time.Minute) // longer than the others are patient
				require.Empty(t, entered, "control-1 waits")
				c.unwell = nil
				require.NoError(t, test.end(t.Context(), lane))
				err := <-entered
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}
