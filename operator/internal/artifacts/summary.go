package artifacts

import (
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/phase"
)

// Outcome is the outcome of a run.
type Outcome string

// Outcomes of a run.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// End describes the end of a run.
type End struct {
	// Stack is the name of the stack.
	Stack string
	// Command is the command of em-infra.
	Command string
	// Outcome is the outcome of the run.
	Outcome Outcome
	// Error is the reason of a failure. Default: none.
	Error string
	// Dependencies are the resources that each resource depends on, before and after the run. Default: none; the summary then does not contain what
	// waited for what.
	Dependencies map[resource.URN][]resource.URN
}

// Summary is the content of summary.json.
type Summary struct {
	Stack   string    `json:"stack"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
	// Changes are the numbers of resources by operation.
	Changes map[apitype.OpType]int `json:"changes,omitempty"`
	// Phases are the phases with operations, in their order. They overlap, so their sum may exceed the duration of the run.
	Phases []PhaseSummary `json:"phases"`
	// Resources are the resources with operations, in the order in which these began.
	Resources []ResourceSummary `json:"resources"`
}

// PhaseSummary is a phase in summary.json, from the beginning of its first operation to the end of its last.
type PhaseSummary struct {
	Phase     phase.Phase `json:"phase"`
	Seconds   float64     `json:"seconds"`
	Resources int         `json:"resources"`
}

// ResourceSummary is a resource in summary.json.
type ResourceSummary struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Phase     phase.Phase    `json:"phase"`
	Operation apitype.OpType `json:"operation"`
	// Outcome is done, failed or unfinished.
	Outcome string `json:"outcome"`
	// After is the beginning in seconds after the start of the run.
	After   float64 `json:"after"`
	Seconds float64 `json:"seconds"`
	// WaitedFor is the resource whose operation was the last to end of those that it had to wait for; absent if there was none.
	WaitedFor *Awaited `json:"waitedFor,omitempty"`
}

func (r *Run) summary(end End) Summary {
	s := Summary{
		Stack: end.Stack, Command: end.Command, Outcome: end.Outcome, Error: end.Error, Started: r.started.UTC(),
		Seconds: seconds(r.clock().Sub(r.started)), Changes: r.timeline.changes,
		Phases: []PhaseSummary{}, Resources: []ResourceSummary{},
	}
	spans := make(map[phase.Phase]*span)
	for _, o := range r.timeline.operations {
		if o.kind == apitype.OpSame {
			continue
		}
		of := phase.Of(o.urn)
		s.Resources = append(s.Resources, ResourceSummary{
			Name: o.urn.Name(), Type: string(o.urn.Type()), Phase: of, Operation: o.kind, Outcome: o.outcome,
			After: seconds(o.began.Sub(r.started)), Seconds: seconds(o.ended.Sub(o.began)),
			WaitedFor: awaited(o, r.timeline.operations, end.Dependencies),
		})
		if spans[of] == nil {
			spans[of] = &span{began: o.began}
		}
		spans[of].stretch(o)
	}
	for _, one := range phase.All {
		if span := spans[one]; span != nil {
			s.Phases = append(s.Phases, PhaseSummary{Phase: one, Seconds: seconds(span.ended.Sub(span.began)), Resources: span.count})
		}
	}
	return s
}

// span is the time from the first of several operations to the last.
type span struct {
	began, ended time.Time
	count        int
}

func (s *span) stretch(o operation) {
	s.count++
	if o.ended.After(s.ended) {
		s.ended = o.ended
	}
}

// seconds rounds to the precision with which events arrive.
func seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }
