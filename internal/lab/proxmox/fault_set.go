package proxmox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
)

// ErrFault is the parent of every mistake in a Fault.
var ErrFault = errors.New("fault")

// Fault asks for a failure of the catalogue by its name.
type Fault struct {
	// Name is one of FaultNames.
	Name string `json:"name"`
	// VMID, Node and Endpoint narrow the fault to a VM, a node, or the template of a path. For a clone the VM is the
	// source where a call is answered, and the new one in the worker.
	VMID     int    `json:"vmid,omitempty"`
	Node     string `json:"node,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Nth is the first occasion that fails, counted from 1; 0 is the first.
	Nth int `json:"nth,omitempty"`
	// Times is how many occasions fail; 0 is every one until the fault is cleared.
	Times int `json:"times,omitempty"`
	// Probability is the share of occasions that fail; 0 is all of them.
	Probability float64 `json:"probability,omitempty"`
}

// FaultNames lists the failures that can be asked for, with what they do.
func FaultNames() map[string]string {
	names := make(map[string]string, len(catalogue))
	for _, k := range catalogue {
		names[k.name] = k.about
	}

	return names
}

// FaultSet is the set of failures that are asked for. It is safe for concurrent use.
type FaultSet struct {
	pace pace.Pace

	mu     sync.Mutex
	armed  []*armed
	random *rand.Rand
}

// armed is a fault with what it has seen so far.
type armed struct {
	Fault
	kind        *faultKind
	seen, fired int
}

// NewFaultSet returns a set without faults. The seed decides which occasions a fault with a probability takes.
func NewFaultSet(p pace.Pace, seed [32]byte) *FaultSet {
	return &FaultSet{pace: p, random: rand.New(rand.NewChaCha8(seed))} //nolint:gosec // no secret depends on it
}

var _ Faults = (*FaultSet)(nil)

// Set asks for a failure from now on. Its errors wrap ErrFault.
func (f *FaultSet) Set(fault Fault) error {
	i := slices.IndexFunc(catalogue, func(k faultKind) bool { return k.name == fault.Name })
	if i < 0 {
		names := make([]string, len(catalogue))
		for i, k := range catalogue {
			names[i] = k.name
		}

		return fmt.Errorf("%w: %q is none: choose one of %s", ErrFault, fault.Name, strings.Join(names, ", "))
	}

	if fault.Probability < 0 || fault.Probability > 1 {
		return fmt.Errorf("%w: probability %v lies outside of 0 to 1", ErrFault, fault.Probability)
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.armed = append(f.armed, &armed{Fault: fault, kind: &catalogue[i]})

	return nil
}

// Clear takes back all faults of a name, or all of them for "". It returns how many there were.
func (f *FaultSet) Clear(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()

	before := len(f.armed)
	f.armed = slices.DeleteFunc(f.armed, func(a *armed) bool { return name == "" || a.Name == name })

	return before - len(f.armed)
}

// List returns the faults that are asked for, in the order of asking.
func (f *FaultSet) List() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()

	list := make([]Fault, len(f.armed))
	for i, a := range f.armed {
		list[i] = a.Fault
	}

	return list
}

// occasion is what a fault is held against.
type occasion struct {
	node, endpoint string
	vmid           int
}

// pick returns the first fault that fires on an occasion, and counts the occasion for all that it concerns.
func (f *FaultSet) pick(o occasion, concerns func(*faultKind) bool) *faultKind {
	f.mu.Lock()
	defer f.mu.Unlock()

	var picked *faultKind

	for _, a := range f.armed {
		if !concerns(a.kind) || !a.matches(o) {
			continue
		}

		a.seen++

		if picked == nil && a.due() && (a.Probability == 0 || f.random.Float64() < a.Probability) {
			a.fired++
			picked = a.kind
		}
	}

	return picked
}

func (a *armed) matches(o occasion) bool {
	return (a.VMID == 0 || a.VMID == o.vmid) && (a.Node == "" || a.Node == o.node) &&
		(a.Endpoint == "" || a.Endpoint == o.endpoint)
}

func (a *armed) due() bool {
	return a.seen >= max(a.Nth, 1) && (a.Times == 0 || a.fired < a.Times)
}

// Call implements Faults.
func (f *FaultSet) Call(ctx context.Context, c Call) error {
	o := occasion{node: c.Node, endpoint: c.Endpoint, vmid: c.VMID}

	k := f.pick(o, func(k *faultKind) bool { return k.call != nil && k.call(c) })
	if k == nil {
		return nil
	}

	if err := f.pace.Sleep(ctx, k.wait); err != nil {
		return err
	}

	return k.answer(c)
}

// Step implements Faults.
func (f *FaultSet) Step(ctx context.Context, t TaskInfo, step Step) error {
	o := occasion{node: t.Node, vmid: t.VMID}

	k := f.pick(o, func(k *faultKind) bool {
		return k.step == step && (len(k.tasks) == 0 || slices.Contains(k.tasks, t.Type))
	})
	if k == nil {
		return nil
	}

	if err := f.pace.Sleep(ctx, k.wait); err != nil || k.fail == nil {
		return err
	}

	return k.fail(t)
}

// Lag implements Faults.
func (f *FaultSet) Lag(t TaskInfo, effect Effect) time.Duration {
	o := occasion{node: t.Node, vmid: t.VMID}

	k := f.pick(o, func(k *faultKind) bool { return k.effect == effect })
	if k == nil {
		return 0
	}

	return k.lag
}
