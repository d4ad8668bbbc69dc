package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Set holds the faults that are set. It is safe for concurrent use.
//
// The seed, the fault's name and the number of earlier faults of that name decide when a fault with a probability occurs. The
// same seed and the same occasions in the same order give the same result, regardless of what else happens at the same time.
type Set struct {
	kinds []Kind
	seed  [32]byte

	mu      sync.Mutex
	armed   []*armed
	asked   map[string]int
	waiting map[string]chan struct{} // by name: closed when the name is cleared
}

// armed is a fault with its own random source.
type armed struct {
	State
	chance *rand.Rand
}

// NewSet returns a set for these kinds, with no fault set.
func NewSet(seed [32]byte, kinds []Kind) *Set {
	return &Set{kinds: kinds, seed: seed, asked: map[string]int{}, waiting: map[string]chan struct{}{}}
}

// Kinds returns the faults that can be set, in a fixed order.
func (s *Set) Kinds() []Kind { return slices.Clone(s.kinds) }

// Set sets a fault from now on. Its errors wrap ErrFault.
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

// Clear clears all faults of a name, or all for "". It returns how many there were.
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

// Cleared returns a channel that is closed as soon as no fault of a name is set.
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

// List returns the faults that are set, in the order in which they were set. A fault that cannot occur again is kept until it
// is cleared.
func (s *Set) List() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]State, len(s.armed))
	for i, a := range s.armed {
		list[i] = a.State
	}
	return list
}

// Trigger counts the occasion for all faults that it concerns. It returns the name of the first fault that occurs, "" for
// none.
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

// due reports whether the fault occurs on the occasion that was just counted. It draws the chance on every occasion, so that
// later occasions do not depend on other faults.
func (a *armed) due() bool {
	drawn := a.Probability == 0 || a.chance.Float64() < a.Probability
	return drawn && a.Seen >= max(a.Nth, 1) && (a.Times == 0 || a.Occurred < a.Times)
}
