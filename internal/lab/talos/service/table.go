// Package service is the service table of an emulated Talos system: the state and the history of each service.
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

// State is the state of a service, with Talos' own values (machine.ServiceStateEvent.Action).
type State = machine.ServiceStateEvent_Action

// States with their names in Talos (internal/app/machined/pkg/system/events).
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

// kept is the number of events in the history of a service, as in Talos.
const kept = 64

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

// NewTable returns an empty table. It calls onChange for every change, one at a time and in order.
func NewTable(now func() time.Time, onChange func(Change) error) *Table {
	return &Table{now: now, onChange: onChange, services: map[string]*entry{}}
}

// Set sets the state of a service, with a message for its history.
func (t *Table) Set(id string, state State, message string) error {
	return t.record(id, func(e *entry) string {
		e.state = state

		if state != Running && e.health != nil {
			e.health = t.health(false, "service not running")
		}

		return message
	})
}

// SetHealth records the result of a health check. The reason applies to a failed check only.
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

// Start sets a service to running and then to healthy.
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

// State returns the state of a service; known is false if the system has no such service.
func (t *Table) State(id string) (state State, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if e := t.services[id]; e != nil {
		return e.state, true
	}

	return Initialized, false
}

// List returns the table in the format of the Talos API, sorted by ID.
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

// Name returns Talos' name of a state: "Running" for RUNNING.
func Name(state State) string {
	upper := state.String()

	return upper[:1] + strings.ToLower(upper[1:])
}
