// Package progress prints what the engine does, a line for each operation.
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

	"github.com/em-infra/em-infra/internal/phase"
)

// patience is how long an operation may take before it is mentioned, and how long until it is again.
const patience = 15 * time.Second

// Reporter finds in the events of the engine what is worth a line. It is safe for concurrent use, and calls its listener for one
// thing at a time.
type Reporter struct {
	listener Listener
	clock    func() time.Time

	mutex    sync.Mutex
	running  []operation // in the order in which they began
	notes    []string    // what was said once
	failures []Failure
}

// operation is one that the engine has begun.
type operation struct {
	urn                  resource.URN
	kind                 apitype.OpType
	inputs               map[string]any
	began, lastMentioned time.Time
	wait                 Wait // empty while it said nothing
}

// Failure is an error that the engine reports for one resource, or for the whole run if Name is empty.
type Failure struct {
	Phase phase.Phase
	Name  string
	Text  string
}

// New makes a reporter that calls listener, with the times of clock. A listener that is nil hears nothing.
func New(listener Listener, clock func() time.Time) *Reporter {
	if listener == nil {
		listener = nobody{}
	}
	return &Reporter{listener: listener, clock: clock}
}

// nobody is the [Listener] of a run of which only the failures matter.
type nobody struct{}

func (nobody) Line(string, string, time.Duration)   {}
func (nobody) Failed(string, string, time.Duration) {}
func (nobody) Note(string)                          {}
func (nobody) Waits(Wait)                           {}

// Add takes the next event of the engine.
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

// Tick mentions what takes long; it is called every few seconds.
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

// still says that the operation goes on, with the time that it usually takes. One that takes longer than that has its bound
// in the place of it, and in the next line what it waits for.
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

// Work is an operation that the engine has begun and not ended.
type Work struct {
	URN    resource.URN
	Kind   apitype.OpType
	Began  time.Time
	Inputs map[string]any
}

// Working is what the engine works on, in the order in which it began.
func (r *Reporter) Working() []Work {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all []Work
	for _, o := range r.running {
		all = append(all, Work{URN: o.urn, Kind: o.kind, Began: o.began, Inputs: o.inputs})
	}
	return all
}

// WaitsFor is told what an operation waits for. That is mentioned whenever the operation is, and at once when it was mentioned
// before: a person wonders then.
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

// mentionWait is about an operation that goes on.
func (r *Reporter) mentionWait(wait Wait) {
	if wait != (Wait{}) {
		r.listener.Waits(wait)
	}
}

// Failures are those that the engine has reported, in its order.
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

// end hands an operation that has ended, and how long it took, to mention.
func (r *Reporter) end(step apitype.StepEventMetadata, mention func(operation, time.Duration)) {
	for i, o := range r.running {
		if string(o.urn) == step.URN && o.kind == step.Op {
			r.running = slices.Delete(r.running, i, i+1)
			if took := r.clock().Sub(o.began); o.kind != apitype.OpRefresh || took >= patience {
				mention(o, took) // what is only read is worth a line when it takes long
			}
			return
		}
	}
}

// isWork reports whether a step does something that takes time: the engine also reports what stays as it is, and what only
// holds others together.
func isWork(step apitype.StepEventMetadata) bool {
	state := step.New
	if state == nil {
		state = step.Old
	}
	if state == nil || !state.Custom || strings.HasPrefix(step.Type, "pulumi:providers:") {
		return false
	}
	return words(step.Op) != operationWords{}
}

func (r *Reporter) line(urn resource.URN, what string, took time.Duration) {
	r.listener.Line(phase.Of(urn).String(), urn.Name()+" "+what, took)
}

// waits is the operation that a message tells the cause of a wait of: what our hooks and Commands say as they go on. It is -1
// for any other message.
func (r *Reporter) waits(message apitype.DiagnosticEvent) int {
	if !message.Ephemeral || message.Severity != "info" {
		return -1
	}
	return slices.IndexFunc(r.running, func(o operation) bool {
		return string(o.urn) == message.URN && tellsItsWait(o.urn.Type(), o.kind)
	})
}

// hear keeps errors for the end of the run, and passes other messages on, each once.
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
	if urn.IsValid() { // what the engine says of the whole run has none
		failure.Phase = phase.Of(urn)
	}
	if urn.IsValid() && urn.Type() != resource.RootStackType {
		failure.Name = urn.Name()
	}
	r.failures = append(r.failures, failure)
}
