// Package progress prints what the engine does, a line for each operation.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/terminal"
)

// patience is how long an operation may take before it is mentioned, and how long until it is again.
const patience = 15 * time.Second

// Teller writes the lines. It is safe for concurrent use.
type Teller struct {
	out   io.Writer
	clock func() time.Time

	mutex    sync.Mutex
	running  []operation // in the order in which they began
	notes    []string    // what was said once
	failures []Failure
}

// operation is one that the engine has begun.
type operation struct {
	urn             resource.URN
	kind            apitype.OpType
	inputs          map[string]any
	began, lastTold time.Time
	waitsFor        string // in its own words; empty while it said nothing
}

// Failure is an error that the engine reports for one resource, or for the whole run if Name is empty.
type Failure struct {
	Phase phase.Phase
	Name  string
	Text  string
}

// New makes a teller that writes to out, with the times of clock.
func New(out io.Writer, clock func() time.Time) *Teller { return &Teller{out: out, clock: clock} }

// Add takes the next event of the engine.
func (t *Teller) Add(event apitype.EngineEvent) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case event.ResourcePreEvent != nil:
		t.begin(event.ResourcePreEvent.Metadata)
	case event.ResOutputsEvent != nil:
		t.end(event.ResOutputsEvent.Metadata, outcome(event.ResOutputsEvent.Metadata))
	case event.ResOpFailedEvent != nil:
		t.end(event.ResOpFailedEvent.Metadata, terminal.Paint(t.out, terminal.Bad, "FAILED"))
	case event.DiagnosticEvent != nil:
		t.hear(*event.DiagnosticEvent)
	}
}

// Tick mentions what takes long; it is called every few seconds.
func (t *Teller) Tick() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now := t.clock()
	for i := range t.running {
		o := &t.running[i]
		if now.Sub(o.lastTold) < patience {
			continue
		}
		o.lastTold = now
		t.tell(o.urn, o.still(now), now.Sub(o.began))
		t.cause(o.waitsFor)
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
func (t *Teller) Working() []Work {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var all []Work
	for _, o := range t.running {
		all = append(all, Work{URN: o.urn, Kind: o.kind, Began: o.began, Inputs: o.inputs})
	}
	return all
}

// WaitsFor is told what an operation waits for. That is mentioned whenever the operation is, and at once when it was mentioned
// before: a person wonders then.
func (t *Teller) WaitsFor(urn resource.URN, what string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for i := range t.running {
		o := &t.running[i]
		if o.urn != urn || o.waitsFor == what {
			continue
		}
		o.waitsFor = what
		if o.lastTold.After(o.began) {
			t.cause(what)
		}
	}
}

// cause are the lines below the line of a running operation.
func (t *Teller) cause(what string) {
	for line := range strings.Lines(what) {
		fmt.Fprintf(t.out, " %-10s   %s\n", "", strings.TrimRight(line, "\n"))
	}
}

// Failures are those that the engine has reported, in its order.
func (t *Teller) Failures() []Failure {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.failures)
}

func (t *Teller) begin(step apitype.StepEventMetadata) {
	if !isWork(step) {
		return
	}
	o := operation{urn: resource.URN(step.URN), kind: step.Op, began: t.clock()}
	o.lastTold = o.began
	if state := cmp.Or(step.New, step.Old); state != nil {
		o.inputs = state.Inputs
	}
	t.running = append(t.running, o)
}

func (t *Teller) end(step apitype.StepEventMetadata, how string) {
	for i, o := range t.running {
		if string(o.urn) == step.URN && o.kind == step.Op {
			t.running = slices.Delete(t.running, i, i+1)
			if took := t.clock().Sub(o.began); o.kind != apitype.OpRefresh || took >= patience {
				t.tell(o.urn, how, took) // what is only read is worth a line when it takes long
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

func (t *Teller) tell(urn resource.URN, what string, took time.Duration) {
	Line(t.out, phase.Of(urn).String(), urn.Name()+" "+what, took)
}

// waits is the operation that a message tells the cause of a wait of: what our hooks and Commands say as they go on. It is -1
// for any other message.
func (t *Teller) waits(message apitype.DiagnosticEvent) int {
	if !message.Ephemeral || message.Severity != "info" {
		return -1
	}
	return slices.IndexFunc(t.running, func(o operation) bool {
		return string(o.urn) == message.URN && tellsItsWait(o.urn.Type(), o.kind)
	})
}

// hear keeps errors for the end of the run, and prints other messages, each once.
func (t *Teller) hear(message apitype.DiagnosticEvent) {
	text := strings.TrimSpace(colors.ReplaceAllString(message.Message, ""))
	urn := resource.URN(message.URN)
	if at := t.waits(message); at >= 0 && text != "" {
		t.running[at].waitsFor = text
		return
	}
	if text == "" || isPassing(message) || slices.Contains(t.notes, text) || isHarmless(text) {
		return
	}
	t.notes = append(t.notes, text)
	if message.Severity != "error" {
		fmt.Fprintf(t.out, " %-10s %s\n", "note", text)
		return
	}
	failure := Failure{Text: unhandled.ReplaceAllString(text, "")}
	if urn.IsValid() { // what the engine says of the whole run has none
		failure.Phase = phase.Of(urn)
	}
	if urn.IsValid() && urn.Type() != resource.RootStackType {
		failure.Name = urn.Name()
	}
	t.failures = append(t.failures, failure)
}
