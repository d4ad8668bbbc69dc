// Package progress reports what the engine does, one line for each operation.
package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/phase"
)

// patience is how long an operation may take before it is mentioned, and the interval until it is mentioned again.
const patience = 15 * time.Second

// Reporter selects from the engine's events what is worth a line. It is safe for concurrent use; its calls of the listener never
// overlap.
type Reporter struct {
	listener Listener
	clock    func() time.Time

	mutex    sync.Mutex
	running  []operation // in the order in which they began
	notes    []string    // messages that were passed on, each once
	failures []Failure
}

// operation is an operation that the engine has begun.
type operation struct {
	urn                  resource.URN
	kind                 apitype.OpType
	inputs               map[string]any
	began, lastMentioned time.Time
	wait                 Wait // empty if no wait was reported
}

// Failure is an error that the engine reports for one resource, or for the whole run if Name is empty.
type Failure struct {
	Phase phase.Phase
	Name  string
	Text  string
}

// New returns a reporter that calls listener and uses clock. The listener may be nil.
func New(listener Listener, clock func() time.Time) *Reporter {
	if listener == nil {
		listener = discard{}
	}
	return &Reporter{listener: listener, clock: clock}
}

// discard is the [Listener] of a run for which only the failures matter.
type discard struct{}

func (discard) Line(string, string, time.Duration)   {}
func (discard) Failed(string, string, time.Duration) {}
func (discard) Note(string)                          {}
func (discard) Waits(Wait)                           {}

// Add processes the next event of the engine.
func (r *Reporter) Add(event apitype.EngineEvent) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case event.ResourcePreEvent != nil:
		r.begin(event.ResourcePreEvent.Metadata)
	case event.ResOutputsEvent != nil:
		r.end(event.ResOutputsEvent.Metadata, func(o operation, took time.Duration) {
			r.line(o.urn, outcome(event.ResOutputsEvent.Metadata), took)
		})
	case event.ResOpFailedEvent != nil:
		r.end(event.ResOpFailedEvent.Metadata, func(o operation, took time.Duration) {
			r.listener.Failed(phase.Of(o.urn).String(), o.urn.Name(), took)
		})
	case event.DiagnosticEvent != nil:
		r.hear(*event.DiagnosticEvent)
	}
}

// Tick mentions operations that take long; it is called every few seconds.
func (r *Reporter) Tick() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := r.clock()
	for i := range r.running {
		o := &r.running[i]
		if now.Sub(o.lastMentioned) < patience {
			continue
		}
		o.lastMentioned = now
		r.line(o.urn, o.still(now), now.Sub(o.began))
		r.mentionWait(o.wait)
	}
}

// still describes an operation that is still running, with its usual duration. If it takes longer, the text contains its limit
// instead.
func (o operation) still(now time.Time) string {
	known := timesOf(o.urn.Type(), o.kind)
	switch what := words(o.kind).doing; {
	case known.usually == 0:
		return what
	case now.Sub(o.began) <= known.usually+patience:
		return fmt.Sprintf("%s, usually %.0f s", what, known.usually.Seconds())
	case known.atMost == 0:
		return fmt.Sprintf("%s, longer than usual", what)
	default:
		return fmt.Sprintf("%s, at most %.0f min", what, known.atMost.Minutes())
	}
}

// Work is an operation that the engine has begun and not finished.
type Work struct {
	URN    resource.URN
	Kind   apitype.OpType
	Began  time.Time
	Inputs map[string]any
}

// Working returns the running operations, in the order in which they began.
func (r *Reporter) Working() []Work {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all []Work
	for _, o := range r.running {
		all = append(all, Work{URN: o.urn, Kind: o.kind, Began: o.began, Inputs: o.inputs})
	}
	return all
}

// WaitsFor sets what an operation waits for. It is reported with each mention of the operation, and at once if the operation was
// mentioned before.
func (r *Reporter) WaitsFor(urn resource.URN, wait Wait) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i := range r.running {
		o := &r.running[i]
		if o.urn != urn || o.wait == wait {
			continue
		}
		o.wait = wait
		if o.lastMentioned.After(o.began) {
			r.mentionWait(wait)
		}
	}
}

// mentionWait reports a wait if there is one.
func (r *Reporter) mentionWait(wait Wait) {
	if wait != (Wait{}) {
		r.listener.Waits(wait)
	}
}

// Failures returns the failures that the engine has reported, in their order.
func (r *Reporter) Failures() []Failure {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.failures)
}

func (r *Reporter) begin(step apitype.StepEventMetadata) {
	if !isWork(step) {
		return
	}
	o := operation{urn: resource.URN(step.URN), kind: step.Op, began: r.clock()}
	o.lastMentioned = o.began
	if state := cmp.Or(step.New, step.Old); state != nil {
		o.inputs = state.Inputs
	}
	r.running = append(r.running, o)
}

// end removes a finished operation and calls mention with its duration.
func (r *Reporter) end(step apitype.StepEventMetadata, mention func(operation, time.Duration)) {
	for i, o := range r.running {
		if string(o.urn) == step.URN && o.kind == step.Op {
			r.running = slices.Delete(r.running, i, i+1)
			if took := r.clock().Sub(o.began); o.kind != apitype.OpRefresh || took >= patience {
				mention(o, took) // a refresh is worth a line only if it takes long
			}
			return
		}
	}
}

// isWork reports whether a step does something that takes time: the engine also reports unchanged resources and components.
func isWork(step apitype.StepEventMetadata) bool {
	state := step.New
	if state == nil {
		state = step.Old
	}
	if state == nil || !state.Custom || token.IsProvider(step.Type) {
		return false
	}
	return words(step.Op) != operationWords{}
}

func (r *Reporter) line(urn resource.URN, what string, took time.Duration) {
	r.listener.Line(phase.Of(urn).String(), urn.Name()+" "+what, took)
}

// waits returns the index of the operation whose wait a message of our hooks or Commands describes; -1 for any other message.
func (r *Reporter) waits(message apitype.DiagnosticEvent) int {
	if !message.Ephemeral || message.Severity != "info" {
		return -1
	}
	return slices.IndexFunc(r.running, func(o operation) bool {
		return string(o.urn) == message.URN && tellsItsWait(o.urn.Type(), o.kind)
	})
}

// hear keeps errors for the end of the run and passes other messages on, each once.
func (r *Reporter) hear(message apitype.DiagnosticEvent) {
	text := strings.TrimSpace(colors.ReplaceAllString(message.Message, ""))
	urn := resource.URN(message.URN)
	if at := r.waits(message); at >= 0 && text != "" {
		r.running[at].wait = Wait{For: text}
		return
	}
	if text == "" || isPassing(message) || slices.Contains(r.notes, text) || isHarmless(text) {
		return
	}
	r.notes = append(r.notes, text)
	if message.Severity != "error" {
		r.listener.Note(text)
		return
	}
	failure := Failure{Text: unhandled.ReplaceAllString(text, "")}
	if urn.IsValid() { // messages about the whole run have no URN
		failure.Phase = phase.Of(urn)
	}
	if urn.IsValid() && urn.Type() != resource.RootStackType {
		failure.Name = urn.Name()
	}
	r.failures = append(r.failures, failure)
}
