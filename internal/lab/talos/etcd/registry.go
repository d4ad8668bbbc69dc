// Package etcd models the etcd clusters of a lab by what Talos lets one see of them: members, learners, quorum, leader.
// It stores no keys. The rules of who may join and leave are those of etcd v3.6 with strict reconfiguration checks
// (etcdserver/server.go, membership/cluster.go), the texts those of its v3rpc/rpctypes.
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

// What etcd refuses with.
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

// Data is what lies in an etcd data directory: which member of which cluster its owner is. The zero value is an empty
// directory.
type Data struct {
	Cluster uint64 `json:"cluster"`
	Member  uint64 `json:"member"`
}

// Empty reports whether the directory holds nothing.
func (d Data) Empty() bool { return d == Data{} }

// Member is a member of a cluster as its member list shows it.
type Member struct {
	ID      uint64     `json:"id"`
	Name    string     `json:"name"` // "" until the member has started for the first time
	Address netip.Addr `json:"address"`
	Learner bool       `json:"learner"`
}

// PeerURL is where other members reach this one.
func (m Member) PeerURL() string { return url(m.Address, peerPort) }

// ClientURL is where clients reach this member; it has none before it has started.
func (m Member) ClientURL() string {
	if m.Name == "" {
		return ""
	}

	return url(m.Address, clientPort)
}

func url(addr netip.Addr, port uint16) string {
	return "https://" + netip.AddrPortFrom(addr, port).String()
}

// Cluster is one etcd cluster; its fields are what has to survive a restart of the lab.
type Cluster struct {
	ID      uint64   `json:"id"`
	Members []Member `json:"members"`
	// Changes counts the changes of the membership, so that no identifier is given twice.
	Changes uint64 `json:"changes"`
	Leader  uint64 `json:"leader"`
	Term    uint64 `json:"term"`
}

// Registry holds the clusters of a lab and which of their members run. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	clusters []*Cluster
	running  map[Data]bool
	births   uint64
	changed  chan struct{} // closed and replaced on every change
}

// NewRegistry takes up clusters as Clusters gave them; none of their members runs yet.
func NewRegistry(clusters ...Cluster) *Registry {
	r := &Registry{running: map[Data]bool{}, changed: make(chan struct{})}

	for _, c := range clusters {
		c.Members = slices.Clone(c.Members)
		r.clusters = append(r.clusters, &c)
		r.births += c.Changes
	}

	return r
}

// Changed is closed at the next change. Take it before looking at what may change.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.changed
}

func (r *Registry) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Clusters is a copy of all clusters, in the order of their birth.
func (r *Registry) Clusters() []Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()

	all := make([]Cluster, 0, len(r.clusters))
	for _, c := range r.clusters {
		copied := *c
		copied.Members = slices.Clone(c.Members)
		all = append(all, copied)
	}

	return all
}

// Bootstrap begins a new cluster with one member, which does not run yet.
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

// Forget drops a cluster of which no data directory is left.
func (r *Registry) Forget(cluster uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.clusters = slices.DeleteFunc(r.clusters, func(c *Cluster) bool { return c.ID == cluster })
}

// SetRunning reports whether the process of this member runs.
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

// identifier is a member's or cluster's number. etcd hashes the peer address with the time of birth; here the time is
// the count of births, so that the same history gives the same numbers.
func identifier(addr netip.Addr, seed, birth uint64) uint64 {
	text := addr.String() + "/" + strconv.FormatUint(seed, 16) + "/" + strconv.FormatUint(birth, 16)
	sum := sha256.Sum256([]byte(text))

	return binary.BigEndian.Uint64(sum[:8])
}

// FormatID is how etcd and Talos write the identifier of a member.
func FormatID(id uint64) string { return fmt.Sprintf("%016x", id) }
