package upgrade

import (
	"context"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// eventsTimeout is how long to wait for a stream of events to begin.
const eventsTimeout = 5 * time.Second

// events are the events of one boot of the node. Only they contain the phase of an upgrade and why it failed. They never decide whether the upgrade
// is over, because they are lost with the connection, and a stream can stay silent (siderolabs/talos #14242).
type events struct {
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	actor    string
	phases   map[string]string // the last phase of each actor
	failures map[string]string // why the sequence of each actor failed
	locked   bool              // another sequence runs; this event has no actor
}

// follow follows the events from now on, until end is called or the stream ends. An upgrade does not need them, so an error ends
// them silently.
func (n Node) follow(ctx context.Context) *events {
	ctx, stop := context.WithCancel(client.WithNode(ctx, n.Address))
	e := &events{stop: stop, done: make(chan struct{}), phases: map[string]string{}, failures: map[string]string{}}
	started := make(chan struct{})
	go func() {
		defer close(e.done)
		defer stop()
		api, err := nodeops.Connect(ctx, n.Talosconfig, n.Address)
		if err != nil {
			close(started)
			return
		}
		defer api.Close()
		e.read(ctx, api, started)
	}()
	select {
	case <-started:
	case <-e.done:
	case <-time.After(eventsTimeout):
	}
	return e
}

// read takes the events of a stream. started is closed when the stream has begun, which its first, empty event shows.
func (e *events) read(ctx context.Context, api *client.Client, started chan struct{}) {
	stream, err := api.Events(ctx)
	if err == nil {
		_, err = stream.Recv()
	}
	close(started)
	for err == nil {
		var message *machineapi.Event
		if message, err = stream.Recv(); err != nil {
			return
		}
		if event, unknown := client.UnmarshalEvent(message); unknown == nil {
			e.take(event)
		}
	}
}

func (e *events) take(event *client.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch payload := event.Payload.(type) {
	case *machineapi.PhaseEvent:
		if payload.GetAction() == machineapi.PhaseEvent_START {
			e.phases[event.ActorID] = payload.GetPhase()
		}
	case *machineapi.SequenceEvent:
		switch failure := payload.GetError(); {
		case failure == nil:
		case failure.GetCode() == common.Code_LOCKED:
			e.locked = true
		default:
			e.failures[event.ActorID] = failure.GetMessage()
		}
	}
}

// by sets the actor of the upgrade, which only the answer to the order contains.
func (e *events) by(actor string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.actor = actor
}

// phase returns the phase that the upgrade is in; empty if unknown.
func (e *events) phase() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phases[e.actor]
}

// failure returns why the upgrade failed; empty if unknown.
func (e *events) failure() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failures[e.actor]
}

// isLocked reports whether the upgrade was not begun, since another sequence runs.
func (e *events) isLocked() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.locked && e.phases[e.actor] == ""
}

// end ends the stream.
func (e *events) end() {
	e.stop()
	<-e.done
}
