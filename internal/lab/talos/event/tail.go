package event

import (
	"errors"
	"slices"
	"time"
)

// errTail is Talos' error for a reader with more than one starting point.
var errTail = errors.New("only one of the number of past events, the last event and the past duration can be given")

// Tail is the starting point of a reader. The zero value starts after the newest event. At most one of Events, ID and
// Duration may be set.
type Tail struct {
	// Events is the number of past events to read first; a negative number means all.
	Events int
	// ID is the event after which to start.
	ID string
	// Duration is the maximum age of the events.
	Duration time.Duration
	// Actor limits the reader to the events of one actor; "" means all.
	Actor string
}

// Follow returns a reader that starts at tail.
func (s *Stream) Follow(tail Tail) (*Reader, error) {
	given := 0
	for _, set := range []bool{tail.Events != 0, tail.ID != "", tail.Duration != 0} {
		if set {
			given++
		}
	}

	if given > 1 {
		return nil, errTail
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return &Reader{stream: s, next: s.first + s.begin(tail), actor: tail.Actor}, nil
}

// begin returns the index in s.events at which a reader with this tail starts.
func (s *Stream) begin(tail Tail) int {
	first := func(reached func(entry) bool) int {
		if i := slices.IndexFunc(s.events, reached); i >= 0 {
			return i
		}

		return len(s.events)
	}

	switch {
	case tail.Events < 0:
		return 0
	case tail.Events > 0:
		return max(0, len(s.events)-tail.Events)
	case tail.ID != "":
		return first(func(e entry) bool { return e.message.GetId() > tail.ID })
	case tail.Duration != 0:
		oldest := s.now().Add(-tail.Duration)

		return first(func(e entry) bool { return e.at.After(oldest) })
	default:
		return len(s.events)
	}
}
