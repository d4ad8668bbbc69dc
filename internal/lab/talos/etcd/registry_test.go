package etcd_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 20, 0, n}) }

// cluster returns a registry with one cluster of n running voters.
func cluster(t *testing.T, n int) (*etcd.Registry, []etcd.Data) {
	t.Helper()

	r := etcd.NewRegistry()
	members := []etcd.Data{r.Bootstrap("m1", addr(11))}
	r.SetRunning(members[0], true)

	for i := 1; i < n; i++ {
		name := "m" + string(rune('1'+i))

		data, err := r.AddLearner(members[0].Cluster, name, addr(byte(11+i)))
		require.NoError(t, err)
		r.SetRunning(data, true)
		require.NoError(t, r.Publish(data, name))
		require.NoError(t, r.Promote(data))

		members = append(members, data)
	}

	return r, members
}

func TestQuorum(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		members, down int
		led           bool
	}{
		{1, 0, true},
		{1, 1, false},
		{2, 0, true},
		{2, 1, false},
		{3, 1, true},
		{3, 2, false},
		{5, 2, true},
		{5, 3, false},
	} {
		r, members := cluster(t, test.members)
		for _, m := range members[:test.down] {
			r.SetRunning(m, false)
		}

		list, err := r.Members(members[0].Cluster)
		if test.led {
			require.NoError(t, err, "%+v", test)
			require.Len(t, list, test.members, "%+v", test)
		} else {
			require.EqualError(t, err, "etcdserver: no leader", "%+v", test)
		}
	}
}

// TestJoining checks etcd's rules for a new member.
func TestJoining(t *testing.T) {
	t.Parallel()

	r, members := cluster(t, 2)
	id := members[0].Cluster

	_, err := r.AddLearner(id, "other", addr(12))
	require.EqualError(t, err, "etcdserver: Peer URLs already exists")

	learner, err := r.AddLearner(id, "m3", addr(13))
	require.NoError(t, err)
	require.EqualError(t, r.Promote(learner), "etcdserver: can only promote a learner member which is in sync with leader")

	_, err = r.AddLearner(id, "m4", addr(14))
	require.EqualError(t, err, "etcdserver: too many learner members in cluster")

	list, err := r.Members(id)
	require.NoError(t, err)
	require.Equal(t, "", list[2].Name)
	require.Equal(t, "", list[2].ClientURL(), "it has not started yet")
	require.Equal(t, "https://127.20.0.13:2380", list[2].PeerURL())

	r.SetRunning(learner, true)
	require.NoError(t, r.Publish(learner, "m3"))
	require.NoError(t, r.Promote(learner))
	require.EqualError(t, r.Promote(learner), "etcdserver: can only promote a learner member")

	r.SetRunning(members[1], false)

	_, err = r.AddLearner(id, "m4", addr(14))
	require.EqualError(t, err, "etcdserver: unhealthy cluster", "a voter is down")
}

// TestLeaving checks etcd's rules for the removal of a member.
func TestLeaving(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name    string
		members int
		down    []int
		remove  int
		err     string
	}{
		{"one of three", 3, nil, 2, ""},
		{"one that is down", 3, []int{2}, 2, ""},
		{"one that runs while another is down", 3, []int{2}, 1, "etcdserver: unhealthy cluster"},
		{"one of two", 2, nil, 1, ""},
		{"the last", 1, nil, 0, "etcdserver: re-configuration failed due to not enough started members"},
		{"without quorum", 3, []int{1, 2}, 2, "etcdserver: no leader"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			r, members := cluster(t, test.members)
			for _, i := range test.down {
				r.SetRunning(members[i], false)
			}

			err := r.Remove(members[0].Cluster, members[test.remove].Member)
			if test.err != "" {
				require.EqualError(t, err, test.err)

				return
			}

			require.NoError(t, err)
			require.ErrorIs(t, r.Remove(members[0].Cluster, members[test.remove].Member), etcd.ErrMemberNotFound)
		})
	}
}

// TestReplacedMember: a node that lost its data replaces its former member.
func TestReplacedMember(t *testing.T) {
	t.Parallel()

	r, members := cluster(t, 3)
	r.SetRunning(members[2], false)

	again, err := r.AddLearner(members[0].Cluster, "m3", addr(13))
	require.NoError(t, err)
	require.NotEqual(t, members[2], again)

	list, err := r.Members(members[0].Cluster)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, again.Member, list[2].ID)
}

func TestLeader(t *testing.T) {
	t.Parallel()

	r, members := cluster(t, 3)

	status, err := r.Status(members[1])
	require.NoError(t, err)
	require.Equal(t, members[0].Member, status.Leader)

	next, err := r.MoveLeader(members[1])
	require.NoError(t, err)
	require.Empty(t, next, "it does not lead")

	next, err = r.MoveLeader(members[0])
	require.NoError(t, err)
	require.Equal(t, "m2", next)

	r.SetRunning(members[1], false)

	moved, err := r.Status(members[0])
	require.NoError(t, err)
	require.Equal(t, members[0].Member, moved.Leader, "an election follows")
	require.Greater(t, moved.Term, status.Term)

	r.SetRunning(members[2], false)

	alone, err := r.Status(members[0])
	require.NoError(t, err)
	require.Zero(t, alone.Leader)

	_, err = r.Status(members[1])
	require.ErrorIs(t, err, etcd.ErrMemberNotFound, "a member that is down says nothing")
}

// TestRestoredRegistry checks that a restored registry has the members, none of which runs yet, and repeats no ID.
func TestRestoredRegistry(t *testing.T) {
	t.Parallel()

	r, members := cluster(t, 3)
	restored := etcd.NewRegistry(r.Clusters()...)

	_, err := restored.Members(members[0].Cluster)
	require.ErrorIs(t, err, etcd.ErrNoLeader)

	for _, m := range members {
		restored.SetRunning(m, true)
	}

	require.Equal(t, r.Clusters()[0].Members, restored.Clusters()[0].Members)

	other := restored.Bootstrap("m1", addr(11))
	require.NotEqual(t, members[0], other)
	require.NotEqual(t, members[0].Cluster, other.Cluster)

	restored.Forget(other.Cluster)
	require.Len(t, restored.Clusters(), 1)
}
