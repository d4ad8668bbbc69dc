package removal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// A member that does not leave is still one, with its node, and the next run removes both.
func TestAMemberThatDoesNotLeave(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	const size = 3
	c := newCluster(t, size)
	vmid := c.leader()
	goes := c.remove(vmid)
	goes.Limits.Leave, goes.Limits.Gone, goes.Limits.Interval = time.Second, time.Second, 10*time.Millisecond
	c.hangs.method.Store("EtcdLeaveCluster")
	require.EqualError(t, goes.Remove(t.Context()), "the member of "+goes.Name+" does not leave etcd (it has tried for 1 s): see `em-infra status`, mend that, then run `em-infra up` again")
	require.NotContains(t, c.said.String(), "is reset")
	c.awaitMembers(size)

	c.hangs.method.Store("")
	require.NoError(t, c.remove(vmid).Remove(t.Context()))
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: goes.Stay}.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, size-1)
}

// Two operators remove a control plane each, and one after the other goes.
func TestTwoRemovalsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	const size = 3
	c := newCluster(t, size)
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
