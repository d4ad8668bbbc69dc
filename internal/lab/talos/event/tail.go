package event

import (
	"errors"
	"slices"
	"time"
)

// errTail is Talos' rule that a reader names at most one place to begin at.
var errTail = errors.New("only one of the number of past events, the last event and the past duration can be given")

// Tail says where a reader begins; the zero value begins after the newest event. At most one of Events, ID and Duration
// may be set.
type Tail struct {
	// Events is how many past events are read first; negative means all that are kept.
	Events int
	// ID is the event after which to begin.
	ID string
	// Duration is the age of the oldest event that is read.
	Duration time.Duration
	// Actor restricts the reader to the events of one actor; "" reads all.
	Actor string
}

// Follow begins to read at tail.
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

// begin is the position in s.events at which a reader with this tail starts.
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
