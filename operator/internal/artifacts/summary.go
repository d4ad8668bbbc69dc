package artifacts

import (
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/phase"
)

// Outcome is how a run ended.
type Outcome string

// Outcomes of a run.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// End is what is known of a run when it is over.
type End struct {
	// Stack that the run worked on.
	Stack string
	// Command of em-infra.
	Command string
	// Outcome of the run.
	Outcome Outcome
	// Error is why the run failed. Default: none.
	Error string
}

// Summary is summary.json.
type Summary struct {
	Stack   string    `json:"stack"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
	// Changes are the resources by what was done to them.
	Changes map[apitype.OpType]int `json:"changes,omitempty"`
	// Phases that anything was done in, in their order. They overlap, so their sum may exceed the whole.
	Phases []PhaseSummary `json:"phases"`
	// Resources that anything was done to, in the order in which that began.
	Resources []ResourceSummary `json:"resources"`
}

// PhaseSummary is a phase in summary.json, from the first thing that began in it to the last that ended.
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
	// After is how many seconds into the run it began.
	After   float64 `json:"after"`
	Seconds float64 `json:"seconds"`
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

// span is the time of several operations.
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

// seconds are rounded to the precision with which events arrive.
func seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }
