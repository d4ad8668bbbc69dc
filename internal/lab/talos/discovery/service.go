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
	affiliates map[ClusterKey][]Affiliate
	changed    chan struct{}
}

// NewService returns a service without affiliates.
func NewService() *Service {
	return &Service{affiliates: map[ClusterKey][]Affiliate{}, changed: make(chan struct{})}
}

// Announce adds an affiliate, or replaces its earlier announcement.
func (s *Service) Announce(cluster ClusterKey, a Affiliate) {
	s.replace(cluster, a.NodeID, func(rest []Affiliate) []Affiliate { return append(rest, a) })
}

// Withdraw removes the affiliate.
func (s *Service) Withdraw(cluster ClusterKey, nodeID string) {
	s.replace(cluster, nodeID, func(rest []Affiliate) []Affiliate { return rest })
}

func (s *Service) replace(cluster ClusterKey, nodeID string, with func([]Affiliate) []Affiliate) {
	s.mu.Lock()
	defer s.mu.Unlock()

	rest := slices.DeleteFunc(slices.Clone(s.affiliates[cluster]), func(a Affiliate) bool { return a.NodeID == nodeID })
	rest = with(rest)
	slices.SortFunc(rest, func(a, b Affiliate) int {
		return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.NodeID, b.NodeID))
	})

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

	return slices.Clone(s.affiliates[cluster]), s.changed
}
