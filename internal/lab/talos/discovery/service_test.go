package discovery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos/discovery"
)

func names(affiliates []discovery.Affiliate) []string {
	all := make([]string, 0, len(affiliates))
	for _, a := range affiliates {
		all = append(all, a.Hostname)
	}

	return all
}

func TestClustersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()

	s := discovery.NewService()
	ours := discovery.ClusterKey{ID: "a", Secret: "x"}
	theirs := discovery.ClusterKey{ID: "a", Secret: "y"}

	s.Announce(ours, discovery.Affiliate{NodeID: "2", Hostname: "two"})
	s.Announce(ours, discovery.Affiliate{NodeID: "1", Hostname: "one"})
	s.Announce(theirs, discovery.Affiliate{NodeID: "3", Hostname: "three"})

	seen, _ := s.Affiliates(ours)
	require.Equal(t, []string{"one", "two"}, names(seen))

	s.Announce(ours, discovery.Affiliate{NodeID: "2", Hostname: "renamed"})
	s.Withdraw(ours, "1")
	s.Withdraw(ours, "nobody")

	seen, _ = s.Affiliates(ours)
	require.Equal(t, []string{"renamed"}, names(seen))
}

func TestChangesAreTold(t *testing.T) {
	t.Parallel()

	s := discovery.NewService()
	key := discovery.ClusterKey{ID: "a"}

	_, changed := s.Affiliates(key)

	select {
	case <-changed:
		t.Fatal("nothing has changed")
	default:
	}

	s.Announce(key, discovery.Affiliate{NodeID: "1"})
	<-changed
}

// TestANewBootIsNotWithdrawnByTheOneBefore: the announcement of a node that has stopped may end after its next boot has made its own.
func TestANewBootIsNotWithdrawnByTheOneBefore(t *testing.T) {
	t.Parallel()

	s := discovery.NewService()
	key := discovery.ClusterKey{ID: "a"}

	first := s.Announce(key, discovery.Affiliate{NodeID: "1", Hostname: "one"})
	second := s.Announce(key, discovery.Affiliate{NodeID: "1", Hostname: "one"})

	s.Expire(first)

	seen, _ := s.Affiliates(key)
	require.Equal(t, []string{"one"}, names(seen))

	s.Expire(second)

	seen, _ = s.Affiliates(key)
	require.Empty(t, seen)
}
