// Package service is the service table of an emulated Talos system: what runs, what waits, and the history of each.
package service

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// State is the state of a service; its values are Talos' own (machine.ServiceStateEvent.Action).
type State = machine.ServiceStateEvent_Action

// States by the names that Talos shows for them (internal/app/machined/pkg/system/events).
const (
	Initialized = machine.ServiceStateEvent_INITIALIZED
	Preparing   = machine.ServiceStateEvent_PREPARING
	Waiting     = machine.ServiceStateEvent_WAITING
	Running     = machine.ServiceStateEvent_RUNNING
	Stopping    = machine.ServiceStateEvent_STOPPING
	Finished    = machine.ServiceStateEvent_FINISHED
	Failed      = machine.ServiceStateEvent_FAILED
	Skipped     = machine.ServiceStateEvent_SKIPPED
)

// kept is how many events a service remembers, as in Talos.
const kept = 64

// Change is one change of a service.
type Change struct {
	ID      string
	State   State
	Message string
	// Health is nil while nothing is known about it.
	Health *machine.ServiceHealth
}

// Table holds the services of one system. It is safe for concurrent use.
type Table struct {
	now      func() time.Time
	onChange func(Change) error

	mu       sync.Mutex
	services map[string]*entry
}

type entry struct {
	state  State
	health *machine.ServiceHealth
	events []*machine.ServiceEvent
}

// NewTable is an empty table. onChange is called for every change, one at a time and in order.
func NewTable(now func() time.Time, onChange func(Change) error) *Table {
	return &Table{now: now, onChange: onChange, services: map[string]*entry{}}
}

// Set brings a service into a state, with the message that its history shows.
func (t *Table) Set(id string, state State, message string) error {
	return t.record(id, func(e *entry) string {
		e.state = state

		if state != Running && e.health != nil {
			e.health = t.health(false, "service not running")
		}

		return message
	})
}

// SetHealth records the outcome of a health check; the reason is only shown when it failed.
func (t *Table) SetHealth(id string, healthy bool, reason string) error {
	return t.record(id, func(e *entry) string {
		if healthy {
			e.health = t.health(true, "")

			return "Health check successful"
		}

		e.health = t.health(false, reason)

		return "Health check failed: " + reason
	})
}

// Start is the way of a service that comes up: running, and then healthy.
func (t *Table) Start(id string) error {
	return errors.Join(t.Set(id, Running, "Started task "+id), t.SetHealth(id, true, ""))
}

func (t *Table) health(healthy bool, message string) *machine.ServiceHealth {
	return &machine.ServiceHealth{Healthy: healthy, LastMessage: message, LastChange: timestamppb.New(t.now())}
}

func (t *Table) record(id string, change func(*entry) string) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	e := t.services[id]
	if e == nil {
		e = &entry{}
		t.services[id] = e
	}

	message := change(e)
	e.events = append(e.events, &machine.ServiceEvent{Msg: message, State: Name(e.state), Ts: timestamppb.New(t.now())})
	e.events = e.events[max(0, len(e.events)-kept):]

	return t.onChange(Change{ID: id, State: e.state, Message: message, Health: e.health})
}

// State is the state of a service; known is false when the system has no such service.
func (t *Table) State(id string) (state State, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if e := t.services[id]; e != nil {
		return e.state, true
	}

	return Initialized, false
}

// List is the table as the Talos API shows it, by identifier.
func (t *Table) List() []*machine.ServiceInfo {
	t.mu.Lock()
	defer t.mu.Unlock()

	list := make([]*machine.ServiceInfo, 0, len(t.services))
	for id, e := range t.services {
		health := e.health
		if health == nil {
			health = &machine.ServiceHealth{Unknown: true}
		}

		list = append(list, &machine.ServiceInfo{
			Id: id, State: Name(e.state), Health: health, Events: &machine.ServiceEvents{Events: slices.Clone(e.events)},
		})
	}

	slices.SortFunc(list, func(a, b *machine.ServiceInfo) int { return cmp.Compare(a.GetId(), b.GetId()) })

	return list
}

// Name is how Talos writes a state: "Running" for RUNNING.
func Name(state State) string {
	upper := state.String()

	return upper[:1] + strings.ToLower(upper[1:])
}
