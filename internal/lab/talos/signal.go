package talos

import "sync"

// signal notifies any number of waiters of a change. It is safe for concurrent use.
type signal struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newSignal() *signal { return &signal{changed: make(chan struct{})} }

// wait returns a channel that is closed at the next change. Call it before reading the state.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.changed
}

func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()

	close(s.changed)
	s.changed = make(chan struct{})
}
