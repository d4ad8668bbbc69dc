// Package etcd models the etcd clusters of a lab as far as Talos shows them: members, learners, quorum, leader. It stores no
// keys. The membership rules are those of etcd v3.6 with strict reconfiguration checks (etcdserver/server.go,
// membership/cluster.go), the texts those of its v3rpc/rpctypes.
package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
)

// Errors of etcd.
var (
	ErrMemberNotFound   = errors.New("etcdserver: member not found")
	ErrNotEnoughStarted = errors.New("etcdserver: re-configuration failed due to not enough started members")
	ErrUnhealthy        = errors.New("etcdserver: unhealthy cluster")
	ErrTooManyLearners  = errors.New("etcdserver: too many learner members in cluster")
	ErrNotLearner       = errors.New("etcdserver: can only promote a learner member")
	ErrLearnerNotReady  = errors.New("etcdserver: can only promote a learner member which is in sync with leader")
	ErrPeerURLExists    = errors.New("etcdserver: Peer URLs already exists")
	ErrNoLeader         = errors.New("etcdserver: no leader")
)

// Ports of etcd (machinery constants EtcdClientPort and EtcdPeerPort).
const (
	clientPort = 2379
	peerPort   = 2380
)

// Data is the content of an etcd data directory: the cluster and the member of its owner. The zero value is an empty
// directory.
type Data struct {
	Cluster uint64 `json:"cluster"`
	Member  uint64 `json:"member"`
}

// Empty reports whether the directory is empty.
func (d Data) Empty() bool { return d == Data{} }

// Member is an entry of a cluster's member list.
type Member struct {
	ID      uint64     `json:"id"`
	Name    string     `json:"name"` // "" until the member's first start
	Address netip.Addr `json:"address"`
	Learner bool       `json:"learner"`
}

// PeerURL returns the member's URL for other members.
func (m Member) PeerURL() string { return url(m.Address, peerPort) }

// ClientURL returns the member's URL for clients; "" before its first start.
func (m Member) ClientURL() string {
	if m.Name == "" {
		return ""
	}

	return url(m.Address, clientPort)
}

func url(addr netip.Addr, port uint16) string {
	return "https://" + netip.AddrPortFrom(addr, port).String()
}

// Cluster is the persistent state of one etcd cluster.
type Cluster struct {
	ID      uint64   `json:"id"`
	Members []Member `json:"members"`
	// Changes counts the membership changes, so that no ID is used twice.
	Changes uint64 `json:"changes"`
	Leader  uint64 `json:"leader"`
	Term    uint64 `json:"term"`
	// Alarms are those that were raised and not disarmed, Full the members whose database has the size of its quota.
	Alarms []Alarm  `json:"alarms,omitempty"`
	Full   []uint64 `json:"full,omitempty"`
}

// Registry holds the clusters of a lab, and which of their members run. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	clusters []*Cluster
	running  map[Data]bool
	births   uint64
	changed  chan struct{} // closed and replaced on every change
}

// NewRegistry returns a registry with clusters from Clusters. None of their members runs yet.
func NewRegistry(clusters ...Cluster) *Registry {
	r := &Registry{running: map[Data]bool{}, changed: make(chan struct{})}

	for _, c := range clusters {
		c.Members, c.Alarms, c.Full = slices.Clone(c.Members), slices.Clone(c.Alarms), slices.Clone(c.Full)
		r.clusters = append(r.clusters, &c)
		r.births += c.Changes
	}

	return r
}

// Changed returns a channel that is closed at the next change. Call it before reading the state.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.changed
}

func (r *Registry) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Clusters returns a copy of all clusters, in the order of their creation.
func (r *Registry) Clusters() []Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()

	all := make([]Cluster, 0, len(r.clusters))
	for _, c := range r.clusters {
		copied := *c
		copied.Members, copied.Alarms, copied.Full = slices.Clone(c.Members), slices.Clone(c.Alarms), slices.Clone(c.Full)
		all = append(all, copied)
	}

	return all
}

// Bootstrap creates a cluster with one member, which does not run yet.
func (r *Registry) Bootstrap(name string, addr netip.Addr) Data {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.births++
	member := Member{ID: identifier(addr, 0, r.births), Name: name, Address: addr}
	cluster := &Cluster{ID: identifier(addr, member.ID, r.births), Members: []Member{member}, Changes: 1, Leader: member.ID, Term: 2}
	r.clusters = append(r.clusters, cluster)
	r.wake()

	return Data{Cluster: cluster.ID, Member: member.ID}
}

// Forget removes a cluster that has no data directory left.
func (r *Registry) Forget(cluster uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.clusters = slices.DeleteFunc(r.clusters, func(c *Cluster) bool { return c.ID == cluster })
}

// SetRunning records whether the process of a member runs.
func (r *Registry) SetRunning(d Data, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if running {
		r.running[d] = true
	} else {
		delete(r.running, d)
	}

	if c := r.find(d.Cluster); c != nil {
		r.elect(c)
	}

	r.wake()
}

func (r *Registry) find(cluster uint64) *Cluster {
	if i := slices.IndexFunc(r.clusters, func(c *Cluster) bool { return c.ID == cluster }); i >= 0 {
		return r.clusters[i]
	}

	return nil
}

// identifier returns the ID of a member or cluster. etcd hashes the peer address with the time of creation. Here a counter
// replaces the time, so that the same history gives the same IDs.
func identifier(addr netip.Addr, seed, birth uint64) uint64 {
	text := addr.String() + "/" + strconv.FormatUint(seed, 16) + "/" + strconv.FormatUint(birth, 16)
	sum := sha256.Sum256([]byte(text))

	return binary.BigEndian.Uint64(sum[:8])
}

// FormatID returns the ID of a member in the format of etcd and Talos.
func FormatID(id uint64) string { return fmt.Sprintf("%016x", id) }
