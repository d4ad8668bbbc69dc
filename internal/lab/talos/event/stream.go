// Package event is the event stream of an emulated Talos system: a bounded history that any number of readers follow,
// each at its own pace.
package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// History is how many past events a stream keeps: 1000 with a safety gap of 10, as in Talos v1.12 (v1alpha1_controller.go).
const History = 990

// ErrOverrun is what a reader gets that fell behind by more than the history.
var ErrOverrun = errors.New("events were lost: the reader is too slow")

// Stream is one system's events from its boot on. It is safe for concurrent use.
type Stream struct {
	now func() time.Time

	mu      sync.Mutex
	first   int // number of the oldest event that is kept
	events  []entry
	ended   bool
	changed chan struct{} // closed and replaced on every change
}

type entry struct {
	message *machine.Event
	at      time.Time
}

// NewStream is an empty stream whose events are dated by now.
func NewStream(now func() time.Time) *Stream {
	return &Stream{now: now, changed: make(chan struct{})}
}

// Publish appends an event. The actor is the identifier that the answer to the causing call carried, "" if there was none.
func (s *Stream) Publish(actor string, payload proto.Message) error {
	value, err := proto.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", payload.ProtoReflect().Descriptor().FullName(), err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.ended {
		return nil
	}

	at := s.now()
	s.events = append(s.events, entry{at: at, message: &machine.Event{
		Id:      identifier(at, s.first+len(s.events)),
		ActorId: actor,
		Data:    &anypb.Any{TypeUrl: typeURL(payload), Value: value},
	}})

	if surplus := len(s.events) - History; surplus > 0 {
		s.events = slices.Delete(s.events, 0, surplus)
		s.first += surplus
	}

	s.wake()

	return nil
}

// End says that no event follows. Readers get what is left and then io.EOF.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.ended {
		s.ended = true
		s.wake()
	}
}

func (s *Stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// typeURL is how Talos names an event's payload (internal/app/machined/pkg/runtime/events.go).
func typeURL(payload proto.Message) string {
	return "talos/runtime/" + string(payload.ProtoReflect().Descriptor().FullName())
}

// identifier sorts by time and then by number, and has the 20 characters of the xid that Talos uses.
func identifier(at time.Time, number int) string {
	return fmt.Sprintf("%08x%012x", uint32(at.Unix()), number)
}

// Hello is the empty first message of every event stream, by which a client sees that streaming began.
func (s *Stream) Hello(actor string) *machine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()

	return &machine.Event{Id: identifier(s.now(), s.first+len(s.events)), ActorId: actor, Data: &anypb.Any{}}
}

// Reader follows a stream.
type Reader struct {
	stream *Stream
	next   int
	actor  string
}

// Next is the next event. It waits for it, and ends with io.EOF when the stream has ended, with ErrOverrun when the
// event is no longer kept, or with the context's error.
func (r *Reader) Next(ctx context.Context) (*machine.Event, error) {
	for {
		message, wait, err := r.take()
		if message != nil || err != nil {
			return message, err
		}

		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take is the next event, or the channel on which to wait for it.
func (r *Reader) take() (*machine.Event, <-chan struct{}, error) {
	s := r.stream

	s.mu.Lock()
	defer s.mu.Unlock()

	for ; r.next < s.first+len(s.events); r.next++ {
		if r.next < s.first {
			return nil, nil, ErrOverrun
		}

		message := s.events[r.next-s.first].message
		if r.actor == "" || message.GetActorId() == r.actor {
			r.next++

			return message, nil, nil
		}
	}

	if s.ended {
		return nil, nil, io.EOF
	}

	return nil, s.changed, nil
}
