// Package progress tells a person what the engine does, a line for each thing that is done.
package progress

import (
	"fmt"
	"io"
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
	began, lastTold time.Time
}

// Failure is what the engine says is wrong with one resource, or with the whole run where Name is empty.
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
		t.end(event.ResOpFailedEvent.Metadata, "FAILED")
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
		what := words(o.kind).doing
		if usual := expected(o.urn.Type(), o.kind); usual > 0 {
			what += fmt.Sprintf(", usually %.0f s", usual.Seconds())
		}
		t.tell(o.urn, what, now.Sub(o.began))
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
	now := t.clock()
	t.running = append(t.running, operation{urn: resource.URN(step.URN), kind: step.Op, began: now, lastTold: now})
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

// Line is one line of a run: in which part, what was done, and how long it took.
func Line(out io.Writer, part, what string, took time.Duration) {
	fmt.Fprintf(out, " %-10s %-60s %6.1f s\n", part, what, took.Seconds())
}

// hear keeps errors for the end of the run, and passes other messages on, each once.
func (t *Teller) hear(message apitype.DiagnosticEvent) {
	text := strings.TrimSpace(colors.ReplaceAllString(message.Message, ""))
	urn := resource.URN(message.URN)
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
