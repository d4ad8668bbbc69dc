package operator

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

// judgement is the result of a preview.
type judgement struct {
	risk.Assessment
	Steps        []plan.Step               // of the engine
	Counts       map[apitype.OpType]int    // of the resources, by operation
	Fingerprint  string                    // of the plan
	ByHand       bool                      // something was changed that the engine does not see
	Unconfigured []state.ConfiguredMachine // machines in maintenance mode whose configuration the state records as applied
	Snapshots    []systemsnapshots.Wanted  // to be taken of systems before they are changed
}

// HasChanges reports whether up would change anything.
func (j judgement) HasChanges() bool {
	return j.ByHand || len(j.Unconfigured) > 0 || hasChanges(j.Counts)
}

// assess assesses the steps of a preview and adds what the recovery deletes and adopts before them.
func assess(steps []plan.Step, cleanup *recovering.Recovery, seen risk.Seen) risk.Assessment {
	assessment := risk.Assess(steps, seen)
	assessment.Notes = slices.Concat(assessment.Notes, cleanup.Deletions(), cleanup.Adoptions())
	return assessment
}

func hasChanges(summary map[apitype.OpType]int) bool {
	for operation, count := range summary {
		if operation != apitype.OpSame && operation != apitype.OpRead && count > 0 {
			return true
		}
	}
	return false
}
