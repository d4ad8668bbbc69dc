// Package event is the event stream of an emulated Talos system: a limited history for any number of independent readers.
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

// History is the number of past events that a stream keeps: 1000 with a safety gap of 10, as in Talos v1.12
// (v1alpha1_controller.go).
const History = 990

// ErrOverrun is returned to a reader that is further behind than the history.
var ErrOverrun = errors.New("events were lost: the reader is too slow")

// Stream has one system's events since its boot. It is safe for concurrent use.
type Stream struct {
	now func() time.Time

	mu      sync.Mutex
	first   int // number of the oldest event in the history
	events  []entry
	ended   bool
	changed chan struct{} // closed and replaced on every change
}

type entry struct {
	message *machine.Event
	at      time.Time
}

// NewStream returns an empty stream with the clock now.
func NewStream(now func() time.Time) *Stream {
	return &Stream{now: now, changed: make(chan struct{})}
}

// Publish appends an event. The actor is the ID in the answer to the causing call, "" for none.
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

// End ends the stream. Readers get the remaining events and then io.EOF.
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

// typeURL returns Talos' name of an event's payload (internal/app/machined/pkg/runtime/events.go).
func typeURL(payload proto.Message) string {
	return "talos/runtime/" + string(payload.ProtoReflect().Descriptor().FullName())
}

// identifier sorts by time and then by number. It has 20 characters, like the xid that Talos uses.
func identifier(at time.Time, number int) string {
	return fmt.Sprintf("%08x%012x", uint32(at.Unix()), number)
}

// Hello returns the empty first message of every event stream, which shows the client that streaming has started.
func (s *Stream) Hello(actor string) *machine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()

	return &machine.Event{Id: identifier(s.now(), s.first+len(s.events)), ActorId: actor, Data: &anypb.Any{}}
}

// Reader reads a stream.
type Reader struct {
	stream *Stream
	next   int
	actor  string
}

// Next waits for the next event and returns it. The error is io.EOF at the end of the stream, ErrOverrun when the event is no
// longer in the history, or the context's error.
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

// take returns the next event, or the channel on which to wait for it.
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
