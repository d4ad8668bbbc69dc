// Package vmlist is the list of the guests of a cluster: VMs and containers share one range of IDs (pve-cluster Cluster.pm,
// get_vmlist and check_vmid_unused).
package vmlist

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Kind is the kind of a guest.
type Kind string

// The kinds, as the API names them.
const (
	VM        Kind = "qemu"
	Container Kind = "lxc"
)

// Guest is an entry of the list.
type Guest struct {
	Kind Kind
	Node string
}

// TakenError is returned for an ID that is in use.
type TakenError struct {
	VMID int
	Guest
}

func (e *TakenError) Error() string {
	kind := "CT"
	if e.Kind != Container {
		kind = "VM"
	}

	return fmt.Sprintf("%s %d already exists on node '%s'", kind, e.VMID, e.Node)
}

// List has the guests of a cluster by ID. It is safe for concurrent use, and calls nothing.
type List struct {
	mu     sync.Mutex
	guests map[int]Guest
}

// New returns an empty list.
func New() *List { return &List{guests: map[int]Guest{}} }

// Add adds a guest. The error is a [*TakenError] if the ID is in use.
func (l *List) Add(vmid int, g Guest) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	if other, taken := l.guests[vmid]; taken {
		return &TakenError{VMID: vmid, Guest: other}
	}

	l.guests[vmid] = g

	return nil
}

// Move records that a guest is on another node.
func (l *List) Move(vmid int, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if g, ok := l.guests[vmid]; ok {
		g.Node = node
		l.guests[vmid] = g
	}
}

// Remove removes a guest.
func (l *List) Remove(vmid int) {
	l.mu.Lock()
	defer l.mu.Unlock()

	delete(l.guests, vmid)
}

// Replace replaces all guests of a kind, as after the start of a cluster.
func (l *List) Replace(kind Kind, nodes map[int]string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	maps.DeleteFunc(l.guests, func(_ int, g Guest) bool { return g.Kind == kind })

	for _, vmid := range slices.Sorted(maps.Keys(nodes)) {
		l.guests[vmid] = Guest{Kind: kind, Node: nodes[vmid]}
	}
}

// Find returns a guest; ok is false if there is none with this ID.
func (l *List) Find(vmid int) (g Guest, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	g, ok = l.guests[vmid]

	return g, ok
}
