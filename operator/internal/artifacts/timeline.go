package artifacts

import (
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// timeline records when the engine began and ended each operation. It uses the times at which events arrive, because the engine's
// own times are in whole seconds.
type timeline struct {
	operations []operation // in the order in which they began
	changes    map[apitype.OpType]int
}

type operation struct {
	urn          resource.URN
	kind         apitype.OpType
	outcome      string
	began, ended time.Time
}

// Outcomes of an operation.
const (
	outcomeDone       = "done"
	outcomeFailed     = "failed"
	outcomeUnfinished = "unfinished"
)

func (t *timeline) add(at time.Time, event apitype.EngineEvent) {
	switch {
	case event.ResourcePreEvent != nil:
		step := event.ResourcePreEvent.Metadata
		if !isCustom(step) {
			return // a component is only the sum of its children
		}
		t.operations = append(t.operations, operation{urn: resource.URN(step.URN), kind: step.Op, outcome: outcomeUnfinished, began: at, ended: at})
	case event.ResOutputsEvent != nil:
		t.end(at, event.ResOutputsEvent.Metadata, outcomeDone)
	case event.ResOpFailedEvent != nil:
		t.end(at, event.ResOpFailedEvent.Metadata, outcomeFailed)
	case event.SummaryEvent != nil:
		t.changes = event.SummaryEvent.ResourceChanges
	}
}

func isCustom(step apitype.StepEventMetadata) bool {
	return step.New != nil && step.New.Custom || step.Old != nil && step.Old.Custom
}

// end ends the operation on a resource that began last and has not ended.
func (t *timeline) end(at time.Time, step apitype.StepEventMetadata, outcome string) {
	for i := range slices.Backward(t.operations) {
		o := &t.operations[i]
		if o.outcome == outcomeUnfinished && string(o.urn) == step.URN && o.kind == step.Op {
			o.outcome, o.ended = outcome, at
			return
		}
	}
}
