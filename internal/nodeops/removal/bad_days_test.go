package removal_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestBadDaysOfARemoval has one cluster of three control planes for all its cases, which is restored after each.
func TestBadDaysOfARemoval(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	shared := newCluster(t, size)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"a member that does not leave", aMemberThatDoesNotLeave},
		{"a member that does not work", aMemberThatDoesNotWork},
		{"two removals at once", twoRemovalsAtOnce},
		{"a dead one goes before one that waits", aDeadOneGoesBeforeOneThatWaits},
		{"one that waits removes the dead one", oneThatWaitsRemovesTheDeadOne},
		{"the dead are expelled first", theDeadAreExpelledFirst},
		{"in the middle of a removal", inTheMiddleOfARemoval},
	} {
		whole := t.Run(test.name, func(t *testing.T) {
			c := shared.lend(t)
			test.run(t, c)
			c.restore()
		})
		require.True(t, whole, "the next case needs a whole cluster")
	}
	t.Run("a control plane that is left untouched", func(t *testing.T) { // the last one, since its etcd is full in the end
		aControlPlaneThatIsLeftUntouched(t, shared.lend(t))
	})
}

// aMemberThatDoesNotLeave checks that a member that does not leave stays in the cluster with its node, and that the next run removes both.
func aMemberThatDoesNotLeave(t *testing.T, c *cluster) {
	vmid := c.leader()
	goes := c.remove(vmid)
	goes.Limits.Leave, goes.Limits.Gone, goes.Limits.Interval = time.Second, time.Second, 10*time.Millisecond
	c.hangs.method.Store("EtcdLeaveCluster")
	require.EqualError(t, goes.Remove(t.Context()), "the member of "+goes.Name+" does not leave etcd (it has tried for 1 s): see `em-infra status`, mend that, then run `em-infra up` again")
	require.NotContains(t, c.printed.String(), "is reset")
	c.awaitMembers(size)
	c.takesBack(goes.Name)

	c.hangs.method.Store("")
	require.NoError(t, c.remove(vmid).Remove(t.Context()))
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: goes.Stay}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// aMemberThatDoesNotWork covers one whose etcd does not start. It cannot leave by itself, because Talos does not know its ID then.
func aMemberThatDoesNotWork(t *testing.T, c *cluster) {
	vmid := first
	if vmid == c.leader() {
		vmid++
	}
	c.hangs.etcdOf.Store(int64(vmid))
	require.NoError(t, c.Fleet.PowerOff(vmid))
	c.PowerOn(vmid, nameOf(vmid))
	goes := c.remove(vmid)
	var printed strings.Builder
	goes.Progress = &printed
	polltest.Until(t, func() bool { return nodeops.IsAlive(t.Context(), c.Talosconfig(), goes.Address) }, goes.Name+" answers again")

	require.NoError(t, goes.Remove(t.Context()))
	require.Contains(t, printed.String(), "warning: the etcd of "+goes.Name+" does not work (its etcd does not run (Talos: Preparing)): its member is removed by another control plane\n"+
		"the member of "+goes.Name+" was removed from etcd\n"+goes.Name+" is reset\n")
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: goes.Stay}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// twoRemovalsAtOnce checks that two operators can remove one control plane each at the same time, and that one leaves after the other.
func twoRemovalsAtOnce(t *testing.T, c *cluster) {
	stays := c.nodes[:1]
	removed := make(chan error, size-1)
	for vmid := first + 1; vmid < first+size; vmid++ {
		goes := c.remove(vmid)
		goes.Stay, goes.Progress = stays, t.Output()
		go func() { removed <- goes.Remove(t.Context()) }()
	}
	for range size - 1 {
		require.NoError(t, <-removed)
	}
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: stays}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 1)
	nodes, err := c.kubernetes(0).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, 1)
}

// noted is a writer that closes said when a removal prints text.
type noted struct {
	text    string
	printed chan struct{}
	once    sync.Once
}

func (n *noted) Write(text []byte) (int, error) {
	if strings.Contains(string(text), n.text) {
		n.once.Do(func() { close(n.printed) })
	}
	return len(text), nil
}

// aDeadOneGoesBeforeOneThatWaits: etcd takes no new member while one is dead. A control plane that waits for its successor to join must not keep the
// dead one from being removed.
func aDeadOneGoesBeforeOneThatWaits(t *testing.T, c *cluster) {
	dead, waits := c.remove(first+2), c.remove(first+1)
	require.NoError(t, c.Fleet.PowerOff(first+2))
	successor := rolling.Node{Name: nameOf(first + 3), Address: c.Address(first + 3), ControlPlane: true}
	dead.Stay, waits.Stay = []rolling.Node{c.nodes[0], successor}, []rolling.Node{c.nodes[0], successor}
	waiting := &noted{text: "control-2 waits until etcd can do without it: ", printed: make(chan struct{})}
	dead.Progress, waits.Progress = t.Output(), waiting
	errEnough := errors.New("enough")
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waits.Remove(ctx) }()
	<-waiting.printed

	require.NoError(t, dead.Remove(t.Context()))
	end(errEnough)
	require.EqualError(t, <-ended, "removing control-2: enough")
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes[:2]}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// oneThatWaitsRemovesTheDeadOne checks that a control plane that waits removes the member of a dead one, which the engine may remove last.
func oneThatWaitsRemovesTheDeadOne(t *testing.T, c *cluster) {
	waits := c.remove(first + 1)
	require.NoError(t, c.Fleet.PowerOff(first+2))
	waits.Stay = []rolling.Node{c.nodes[0], {Name: nameOf(first + 3), Address: c.Address(first + 3), ControlPlane: true}}
	waits.Leave = []string{nameOf(first + 1), nameOf(first + 2)}
	waiting := &noted{text: "control-2 waits until etcd can do without it: control-4, which stays, is no member yet", printed: make(chan struct{})}
	waits.Progress = waiting
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waits.Remove(ctx) }()
	<-waiting.printed
	end(errors.New("enough"))
	require.EqualError(t, <-ended, "removing control-2: enough")
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes[:2]}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// theDeadAreExpelledFirst checks that the member of a dead control plane that leaves is removed first, and no other member: the changes of a run
// come before its removals, and wait for an etcd without dead members.
func theDeadAreExpelledFirst(t *testing.T, c *cluster) {
	leaving := removal.ControlPlane{
		Node: removal.Node{Talosconfig: c.Talosconfig(), Progress: c.printed}, Stay: c.nodes[:1], Leave: []string{nameOf(first + 1), nameOf(first + 2)},
	}
	require.NoError(t, leaving.ExpelDead(t.Context()))
	require.Empty(t, c.printed.String())

	require.NoError(t, c.Fleet.PowerOff(first+2))
	require.NoError(t, leaving.ExpelDead(t.Context()))
	require.Equal(t, "warning: control-3 is dead: its member is removed from etcd by another control plane, and it is neither drained nor reset\n"+
		"the member of control-3 was removed from etcd\n", c.printed.String())
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes[:2]}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// inTheMiddleOfARemoval covers a change of the leader between two looks at etcd, and a power cut of the node. In both cases its member
// and nothing else is gone, and etcd has a majority throughout.
func inTheMiddleOfARemoval(t *testing.T, c *cluster) {
	for _, test := range []struct {
		name string
		at   action
		do   func(vmid int) error
	}{
		{"the leader changes between look and act", action{method: "EtcdForfeitLeadership"}, func(vmid int) error {
			_, err := c.Admin(vmid).EtcdForfeitLeadership(t.Context(), &machineapi.EtcdForfeitLeadershipRequest{})
			return err
		}},
		{"the power is cut when its member has left", action{method: "EtcdLeaveCluster", done: true}, func(vmid int) error { return c.Fleet.PowerOff(vmid) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			vmid := c.leader()
			test.at.result = make(chan error, 1)
			test.at.do = func() error { return test.do(vmid) }
			c.hangs.next.Store(&test.at)
			goes := c.remove(vmid)
			require.NoError(t, goes.Remove(t.Context()))
			require.Nil(t, c.hangs.next.Load(), "it did not happen")
			require.NoError(t, <-test.at.result)
			members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: goes.Stay}.Members(t.Context())
			require.NoError(t, err)
			require.Len(t, members, size-1)
			for _, member := range members {
				require.Empty(t, member.Problem)
			}
			nodes, err := c.kubernetes(vmid).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, nodes.Items, size-1)
			c.restore()
		})
	}
}
