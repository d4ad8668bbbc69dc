package nodeops_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// log records the messages of a drain, one per line.
type log struct{ strings.Builder }

func (l *log) say(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }

func silent(string, ...any) {}

func TestDrainMovesWhatHasToMove(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		returns bool
		tries   map[string]int
		left    []string
	}{
		{"of a node that goes", false, map[string]int{"web": 1, "bare": 1}, []string{"agent", "static", "job-done"}},
		{"of a node that comes back", true, map[string]int{"web": 1}, []string{"bare", "agent", "static", "job-done"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			api := &apiServer{allows: always, nodes: []*node{newNode("worker-1")}, pods: []*pod{
				newPod("web"),
				newPod("bare", func(p *pod) { p.Metadata.OwnerReferences = nil }),
				newPod("agent", func(p *pod) { p.Metadata.OwnerReferences[0].Kind = "DaemonSet" }),
				newPod("static", func(p *pod) { p.Metadata.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"} }),
				newPod("job-done", func(p *pod) { p.Status.Phase = "Succeeded" }),
			}}
			var printed log
			require.NoError(t, api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, Returns: test.returns, Say: printed.say}))
			require.Equal(t, test.tries, api.tries)
			require.Equal(t, test.left, api.left())
			require.Equal(t, "worker-1 is drained\n", printed.String())
			require.Equal(t, true, api.nodes[0].Spec.Unschedulable)
			require.Equal(t, map[bool]string{true: "true", false: "leaves"}[test.returns], api.nodes[0].Metadata.Annotations[nodeops.CordonAnnotation])
		})
	}
}

func TestDrainWaitsForPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0"), newPod("web-1")}, allows: func(pod string, tries int) int {
			if pod == "web-1" && tries < 5 {
				return http.StatusTooManyRequests
			}
			return http.StatusCreated
		}}
		var printed log
		require.NoError(t, api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, Say: printed.say}))
		require.Equal(t, map[string]int{"web-0": 1, "web-1": 5}, api.tries)
		require.Equal(t, "worker-1: PodDisruptionBudgets hold back shop/web-1; waiting for up to 1m0s\nworker-1 is drained\n", printed.String())
	})
}

func TestF32ADrainThatIsHeldBackEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{allows: heldBack, nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0"), newPod("web-1")}}
		err := api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: 10 * time.Minute, Say: silent})
		require.EqualError(t, err, "worker-1 is not drained after 10m0s, because PodDisruptionBudgets hold pods back (shop/web-0, shop/web-1): "+
			"let them move, e.g. with one replica more, then run up again; or set EM_INFRA_DELETE_HELD_BACK_PODS=yes for that run, and they are deleted")
		require.Len(t, api.left(), 2)
	})
}

func TestPodsThatDoNotEndAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{allows: always, nodes: []*node{newNode("worker-1")}}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			api.pods = append(api.pods, newPod(name, func(p *pod) { p.Metadata.DeletionTimestamp = "2026-11-22T01:00:00Z" }))
		}
		err := api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, Say: silent})
		require.ErrorContains(t, err, "because pods do not end (shop/a, shop/b, shop/c, shop/d, shop/e, and 1 more): ")
		require.Empty(t, api.tries, "they are on their way already")
	})
}

func TestHeldBackPodsAreDeletedOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{allows: heldBack, nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0"), newPod("web-1")}}
		var printed log
		require.NoError(t, api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, DeleteHeldBack: true, Say: printed.say}))
		require.Empty(t, api.left())
		require.Equal(t, "worker-1: PodDisruptionBudgets hold back shop/web-0, shop/web-1; waiting for up to 1m0s\n"+
			"warning: worker-1 is not drained after 1m0s: deleted shop/web-0, shop/web-1\n", printed.String())
	})
}

// TestPodsThatCannotBeDeletedAreNamed: what is printed as deleted is what was deleted.
func TestPodsThatCannotBeDeletedAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{allows: heldBack, nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0"), newPod("web-1")}}
		api.fails = func(path string, _ int) int {
			if strings.HasSuffix(path, "/pods/web-1") {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		}
		var printed log
		err := api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, DeleteHeldBack: true, Say: printed.say})
		require.EqualError(t, err, "worker-1 is not drained after 1m0s, because pod shop/web-1 cannot be deleted (etcdserver: leader changed): mend that, then run up again")
		require.Equal(t, "worker-1: PodDisruptionBudgets hold back shop/web-0, shop/web-1; waiting for up to 1m0s\n"+
			"warning: worker-1 is not drained after 1m0s: deleted shop/web-0\n", printed.String())
	})
}

// TestADrainOutlastsAnAPIServerThatFails checks that a drain goes on after an API server has failed for a moment, as while etcd elects a leader.
func TestADrainOutlastsAnAPIServerThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		nodes     []int // the status of each request for the Node; all later requests get the last one
		lists     []int // of each list of pods
		evictions []int
		want      string
		after     time.Duration
		left      int
	}{
		"no answer":               {lists: []int{0, 0, http.StatusOK}, evictions: []int{http.StatusCreated}, after: 300 * time.Millisecond},
		"an election":             {lists: []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusOK}, evictions: []int{http.StatusServiceUnavailable, http.StatusCreated}, after: 400 * time.Millisecond},
		"no list until the end":   {lists: []int{http.StatusInternalServerError}, want: "worker-1 is not drained after 1m0s, because the Kubernetes API fails (list of its pods: etcdserver: leader changed): mend that, then run up again", after: time.Minute, left: 2},
		"no eviction in time":     {lists: []int{http.StatusOK}, evictions: []int{http.StatusInternalServerError}, want: "worker-1 is not drained after 1m0s, because the Kubernetes API fails (pod shop/web-0: Cannot evict pod as it would violate the pod's disruption budget.): mend that, then run up again", after: time.Minute, left: 1},
		"no cordon":               {nodes: []int{http.StatusInternalServerError, http.StatusInternalServerError, http.StatusOK}, after: 300 * time.Millisecond},
		"no cordon in time":       {nodes: []int{http.StatusInternalServerError}, want: "worker-1 is not drained after 1m0s, because the Kubernetes API fails (its Node: etcdserver: leader changed): mend that, then run up again", after: time.Minute, left: 2},
		"no permission to cordon": {nodes: []int{http.StatusForbidden}, want: "drain worker-1: its Node: etcdserver: leader changed: run up again", left: 2},
		"credentials":             {lists: []int{http.StatusUnauthorized}, want: "drain worker-1: list of its pods: etcdserver: leader changed: run up again", left: 2},
		"permissions":             {lists: []int{http.StatusForbidden}, want: "drain worker-1: list of its pods: etcdserver: leader changed: run up again", left: 2},
		"a request that is wrong": {lists: []int{http.StatusOK}, evictions: []int{http.StatusUnprocessableEntity}, want: "drain worker-1: pod shop/web-0: Cannot evict pod as it would violate the pod's disruption budget.: run up again", left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &apiServer{nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0"), newPod("web-1")}}
				at := func(codes []int, tries, usual int) int {
					if len(codes) == 0 {
						return usual
					}
					return codes[min(tries, len(codes))-1]
				}
				api.fails = func(path string, tries int) int {
					if strings.HasSuffix(path, "/pods") {
						return at(test.lists, tries, http.StatusOK)
					}
					return at(test.nodes, tries, http.StatusOK)
				}
				api.allows = func(pod string, tries int) int {
					if pod != "web-0" {
						return http.StatusCreated
					}
					return at(test.evictions, tries, http.StatusCreated)
				}
				began := time.Now()
				err := api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, Say: silent})
				polltest.Lasted(t, test.after, began)
				require.Len(t, api.left(), test.left)
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}

// TestADrainWaitsForTheAPI checks that a drain waits for the API as long as the restart of an API server may take, and reports that it waits. Only
// pods that are held back have the whole time of the drain.
func TestADrainWaitsForTheAPI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0")}}
		api.fails = func(string, int) int { return http.StatusServiceUnavailable }
		var printed []string
		say := func(format string, args ...any) { printed = append(printed, fmt.Sprintf(format, args...)) }
		began := time.Now()
		err := api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: 10 * time.Minute, Say: say})
		polltest.Lasted(t, 2*time.Minute, began)
		require.EqualError(t, err, "worker-1 is not drained after 2m0s, because the Kubernetes API fails (its Node: etcdserver: leader changed): mend that, then run up again")
		require.Equal(t, []string{"worker-1: the Kubernetes API fails (its Node: etcdserver: leader changed); waiting for up to 2m0s"}, printed)
	})
}

// TestPodsThatAreNotEvictedAreDeletedOnRequest: an API server refuses to evict a pod with two PodDisruptionBudgets.
func TestPodsThatAreNotEvictedAreDeletedOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0")}}
		api.allows = func(string, int) int { return http.StatusInternalServerError }
		require.NoError(t, api.client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Timeout: time.Minute, DeleteHeldBack: true, Say: silent}))
		require.Empty(t, api.left())
	})
}

func TestAnInterruptEndsADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		api := &apiServer{allows: heldBack, nodes: []*node{newNode("worker-1")}, pods: []*pod{newPod("web-0")}}
		time.AfterFunc(time.Minute, func() { interrupt(errors.New("interrupted")) })
		err := api.client().Drain(ctx, nodeops.Drain{Node: "worker-1", Timeout: 10 * time.Minute, Say: silent})
		require.ErrorContains(t, err, "drain worker-1: ")
		require.Less(t, api.tries["web-0"], 200)
	})
}

func TestAWorkerThatIsNoNodeYetIsDrained(t *testing.T) {
	t.Parallel()
	require.NoError(t, (&apiServer{}).client().Drain(t.Context(), nodeops.Drain{Node: "worker-1", Say: silent}))
}

func TestOnlyOurOwnCordonsAreTakenBack(t *testing.T) {
	t.Parallel()
	api := &apiServer{nodes: []*node{newNode("worker-1"), newNode("worker-2"), newNode("worker-3"), newNode("worker-4")}}
	ours, theirs := api.nodes[0], api.nodes[1]
	theirs.Spec.Unschedulable = true
	k := api.client()
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		require.NoError(t, k.Drain(t.Context(), nodeops.Drain{Node: name, Returns: true, Say: silent}))
	}
	require.Empty(t, theirs.Metadata.Annotations, "somebody had cordoned it before")

	uncordoned, err := k.Uncordon(t.Context(), busyWith("worker-3"))
	require.NoError(t, err)
	require.Equal(t, []string{"worker-1"}, uncordoned)
	require.Nil(t, ours.Spec.Unschedulable)
	require.Empty(t, ours.Metadata.Annotations)
	require.Equal(t, true, theirs.Spec.Unschedulable)
	require.Equal(t, true, api.nodes[2].Spec.Unschedulable, "it is being changed")
}

// TestANodeThatLeavesStaysCordoned checks that the node stays cordoned while the lane changes others, because new pods would be removed with it. Once
// the inventory has the node again, a change of it or the end of an up removes the cordon.
func TestANodeThatLeavesStaysCordoned(t *testing.T) {
	t.Parallel()
	api := &apiServer{nodes: []*node{newNode("worker-1")}}
	k := api.client()
	drain := func(returns bool) {
		require.NoError(t, k.Drain(t.Context(), nodeops.Drain{Node: "worker-1", Returns: returns, Say: silent}))
	}
	uncordons := func(ask func(context.Context) ([]string, error), names ...string) {
		uncordoned, err := ask(t.Context())
		require.NoError(t, err)
		require.Equal(t, names, uncordoned)
	}
	lane := func(ctx context.Context) ([]string, error) { return k.Uncordon(ctx, busyWith()) }
	drain(true) // by a run that was interrupted
	drain(false)
	uncordons(lane)
	uncordons(k.UncordonAll, "worker-1")
	drain(false)
	drain(true)
	uncordons(lane, "worker-1")
}

// TestWhoIsBusyIsAskedLast: a node that is drained while the list of Nodes is on its way stays cordoned.
func TestWhoIsBusyIsAskedLast(t *testing.T) {
	t.Parallel()
	api := &apiServer{nodes: []*node{newNode("worker-1"), newNode("worker-2")}}
	k := api.client()
	var lane []string
	drain := func(name string) {
		require.NoError(t, k.Drain(t.Context(), nodeops.Drain{Node: name, Returns: true, Say: silent}))
	}
	drain("worker-1")
	api.fails = func(path string, _ int) int { // is asked before each answer
		if path == "/api/v1/nodes" && len(lane) == 0 {
			lane = []string{"worker-2"}
			for _, n := range api.nodes {
				if n.Metadata.Name == "worker-2" {
					n.Spec.Unschedulable, n.Metadata.Annotations = true, map[string]any{nodeops.CordonAnnotation: "true"}
				}
			}
		}
		return http.StatusOK
	}
	uncordoned, err := k.Uncordon(t.Context(), func() []string { return lane })
	require.NoError(t, err)
	require.Equal(t, []string{"worker-1"}, uncordoned)
	require.Equal(t, true, api.nodes[1].Spec.Unschedulable)
}

// busyWith returns a function that returns the nodes that are being changed, for [nodeops.Kubernetes.Uncordon].
func busyWith(names ...string) func() []string { return func() []string { return names } }
