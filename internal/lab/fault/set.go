package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Set is the faults that are asked for. It is safe for concurrent use.
//
// What a fault with a probability takes is decided by the seed, its name, and how many of that name were asked for before:
// with the same seed and the same occasions in the same order it is the same ones, whatever else happens meanwhile.
type Set struct {
	kinds []Kind
	seed  [32]byte

	mu      sync.Mutex
	armed   []*armed
	asked   map[string]int
	waiting map[string]chan struct{} // of those who wait until a name is cleared, closed then
}

// armed is a fault with its own chance.
type armed struct {
	State
	chance *rand.Rand
}

// NewSet returns a set that knows these kinds, with no fault asked for.
func NewSet(seed [32]byte, kinds []Kind) *Set {
	return &Set{kinds: kinds, seed: seed, asked: map[string]int{}, waiting: map[string]chan struct{}{}}
}

// Kinds are the failures that can be asked for, in a fixed order.
func (s *Set) Kinds() []Kind { return slices.Clone(s.kinds) }

// Set asks for a failure from now on. Its errors wrap ErrFault.
func (s *Set) Set(f Fault) error {
	f, err := f.settle(s.kinds)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, &armed{State: State{Fault: f}, chance: s.chance(f.Name, s.asked[f.Name])})
	s.asked[f.Name]++
	return nil
}

func (s *Set) chance(name string, earlier int) *rand.Rand {
	seed := sha256.Sum256(fmt.Appendf(binary.BigEndian.AppendUint64(s.seed[:], uint64(earlier)), "%s", name))
	return rand.New(rand.NewChaCha8(seed)) //nolint:gosec // no secret depends on it
}

// Clear takes back all faults of a name, or all of them for "". It returns how many there were.
func (s *Set) Clear(name string) (int, error) {
	if !slices.ContainsFunc(s.kinds, func(k Kind) bool { return name == "" || k.Name == name }) {
		return 0, unknown(name, s.kinds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.armed)
	s.armed = slices.DeleteFunc(s.armed, func(a *armed) bool { return name == "" || a.Name == name })
	for waited, cleared := range s.waiting {
		if name == "" || waited == name {
			close(cleared)
			delete(s.waiting, waited)
		}
	}
	return before - len(s.armed), nil
}

// Cleared returns a channel that is closed as soon as no fault of a name is asked for.
func (s *Set) Cleared(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	cleared, waited := s.waiting[name]
	if waited {
		return cleared
	}
	cleared = make(chan struct{})
	if slices.ContainsFunc(s.armed, func(a *armed) bool { return a.Name == name }) {
		s.waiting[name] = cleared
	} else {
		close(cleared)
	}
	return cleared
}

// List returns the faults that are asked for, in the order of asking. One that has occurred as often as it was to is kept
// until it is cleared.
func (s *Set) List() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]State, len(s.armed))
	for i, a := range s.armed {
		list[i] = a.State
	}
	return list
}

// Trigger returns the name of the first fault that occurs on an occasion, "" for none, and counts the occasion for all
// that it concerns.
func (s *Set) Trigger(o Occasion, concerns func(name string) bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	occurred := ""
	for _, a := range s.armed {
		if !concerns(a.Name) || !a.matches(o) {
			continue
		}
		a.Seen++
		if a.due() && occurred == "" {
			a.Occurred++
			occurred = a.Name
		}
	}
	return occurred
}

// due reports whether the occasion that was just counted is one on which the fault occurs. The chance is drawn on every occasion, so
// that what comes later does not depend on whether others occurred.
func (a *armed) due() bool {
	drawn := a.Probability == 0 || a.chance.Float64() < a.Probability
	return drawn && a.Seen >= max(a.Nth, 1) && (a.Times == 0 || a.Occurred < a.Times)
}
