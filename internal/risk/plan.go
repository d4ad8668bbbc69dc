package risk

import "github.com/em-infra/em-infra/internal/engine/plan"

// Step is a step of a plan, whose rules are here.
type Step = plan.Step

// Steps are those of a preview ([plan.Steps]).
var Steps = plan.Steps
