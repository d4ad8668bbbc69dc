// Package discovery is the lab's discovery service. Only nodes of the same cluster see each other's announcements.
package discovery

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
)

// ClusterKey identifies a cluster. A client needs both values to see its affiliates.
type ClusterKey struct {
	ID     string
	Secret string
}

// Affiliate is the announcement of a node.
type Affiliate struct {
	NodeID          string
	Hostname        string
	Addresses       []netip.Addr
	Type            machine.Type
	OperatingSystem string
	// APIServerPort is the port of the Kubernetes API on a control plane, 0 on a worker.
	APIServerPort int
}

// Equal reports whether two announcements are the same.
func (a Affiliate) Equal(b Affiliate) bool {
	return a.NodeID == b.NodeID && a.Hostname == b.Hostname && slices.Equal(a.Addresses, b.Addresses) &&
		a.Type == b.Type && a.OperatingSystem == b.OperatingSystem && a.APIServerPort == b.APIServerPort
}

// Service holds the announcements. It is safe for concurrent use.
type Service struct {
	mu         sync.Mutex
	affiliates map[ClusterKey][]announced
	count      uint64
	changed    chan struct{}
}

// announced is an affiliate with the announcement that it is from.
type announced struct {
	Affiliate
	by Announcement
}

// Announcement is one announcement of an affiliate.
type Announcement struct {
	cluster ClusterKey
	nodeID  string
	number  uint64
}

// NewService returns a service without affiliates.
func NewService() *Service {
	return &Service{affiliates: map[ClusterKey][]announced{}, changed: make(chan struct{})}
}

// Announce adds an affiliate, or replaces its earlier announcement.
func (s *Service) Announce(cluster ClusterKey, a Affiliate) Announcement {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.count++
	by := Announcement{cluster: cluster, nodeID: a.NodeID, number: s.count}
	s.remove(cluster, func(other announced) bool { return other.NodeID == a.NodeID })
	s.affiliates[cluster] = append(s.affiliates[cluster], announced{Affiliate: a, by: by})
	slices.SortFunc(s.affiliates[cluster], func(a, b announced) int {
		return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.NodeID, b.NodeID))
	})

	return by
}

// Withdraw removes the affiliate.
func (s *Service) Withdraw(cluster ClusterKey, nodeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.remove(cluster, func(a announced) bool { return a.NodeID == nodeID })
}

// Expire removes the affiliate of an announcement, unless it has announced itself again since.
func (s *Service) Expire(by Announcement) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.remove(by.cluster, func(a announced) bool { return a.by == by })
}

func (s *Service) remove(cluster ClusterKey, gone func(announced) bool) {
	rest := slices.DeleteFunc(slices.Clone(s.affiliates[cluster]), gone)

	s.affiliates[cluster] = rest
	if len(rest) == 0 {
		delete(s.affiliates, cluster)
	}

	close(s.changed)
	s.changed = make(chan struct{})
}

// Affiliates returns the nodes of a cluster, sorted by hostname, and a channel that is closed when they may have changed.
func (s *Service) Affiliates(cluster ClusterKey) ([]Affiliate, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := make([]Affiliate, 0, len(s.affiliates[cluster]))
	for _, a := range s.affiliates[cluster] {
		all = append(all, a.Affiliate)
	}

	return all, s.changed
}
