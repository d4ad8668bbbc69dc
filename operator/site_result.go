package operator

import (
	"errors"
	"fmt"
	"slices"
)

// SiteOutcome is what came of a stack of a site.
type SiteOutcome string

// The outcomes, from the least to the most serious.
const (
	// SiteNotBegun is that of the stacks after the one that a run has stopped at.
	SiteNotBegun SiteOutcome = "not begun"
	// SiteWell means that the operation ended well, and that a preview has found no changes.
	SiteWell SiteOutcome = "well"
	// SiteChanges means that an up would change something.
	SiteChanges SiteOutcome = "changes"
	// SiteRefused means that the operation was refused, or that an up would be; the error says why.
	SiteRefused SiteOutcome = "refused"
	// SiteNotSound means that something is wrong or could not be read.
	SiteNotSound SiteOutcome = "not sound"
	// SiteFailed means that the operation failed, or was interrupted while the engine worked.
	SiteFailed SiteOutcome = "failed"
)

// outcomes are all of them, from the least to the most serious: a failure counts more than a refusal, and that more than changes. A stack that
// was not begun counts least, since the one that the run stopped at has an outcome of its own.
var outcomes = []SiteOutcome{SiteNotBegun, SiteWell, SiteChanges, SiteRefused, SiteNotSound, SiteFailed}

// outcomeOf returns what the error of an operation on a stack means.
func outcomeOf(err error) SiteOutcome {
	switch {
	case err == nil:
		return SiteWell
	case errors.Is(err, ErrChanges):
		return SiteChanges
	case errors.Is(err, ErrNotWell):
		return SiteNotSound
	case errors.As(err, new(*RefusedError)):
		return SiteRefused
	default:
		return SiteFailed
	}
}

// SiteStack is a stack of a site and what came of it.
type SiteStack struct {
	StackSummary
	// Number is its place among the stacks of the run, from 1, and Of is their number.
	Number, Of int
	// Outcome is what came of it. Before its operation has ended it is [SiteNotBegun].
	Outcome SiteOutcome
	// Err is the error of its operation, or that of the operation's result; nil if it ended well, and if it was not begun.
	Err error
	// Stops reports whether the run stops at this stack.
	Stops bool
	// Up, Preview, Status and Destroyed are the result of its operation, and nil for another operation. All are nil if it had none.
	Up        *UpResult
	Preview   *Preview
	Status    *Status
	Destroyed *DestroyResult
}

// SiteResult is the result of [RunSite].
type SiteResult struct {
	// Stacks are all stacks of the site, in the order of the operation.
	Stacks []SiteStack
}

// Stopped returns the stack that the run stopped at; nil if it stopped at none. An up or a destroy that is run again goes on from there.
func (r *SiteResult) Stopped() *SiteStack {
	if i := slices.IndexFunc(r.Stacks, func(one SiteStack) bool { return one.Stops }); i >= 0 {
		return &r.Stacks[i]
	}
	return nil
}

// Worst returns the worst outcome of all stacks.
func (r *SiteResult) Worst() SiteOutcome {
	worst := 0
	for _, one := range r.Stacks {
		worst = max(worst, slices.Index(outcomes, one.Outcome))
	}
	return outcomes[worst]
}

// Err returns the error of the stack that the run stopped at. If it stopped at none, Err returns [ErrNotWell] if something is wrong or failed in a
// stack, else a [RefusedError] if stacks were refused, else [ErrChanges] if an up would change something in a stack, and nil otherwise.
func (r *SiteResult) Err() error {
	if stopped := r.Stopped(); stopped != nil {
		return stopped.Err
	}
	switch r.Worst() {
	case SiteFailed, SiteNotSound:
		return ErrNotWell
	case SiteRefused:
		return r.refusals()
	case SiteChanges:
		return ErrChanges
	default:
		return nil
	}
}

// refusals returns why stacks were refused.
func (r *SiteResult) refusals() error {
	var all []error
	for _, one := range r.Stacks {
		if one.Outcome == SiteRefused {
			all = append(all, fmt.Errorf("%s: %w", one.Stack, one.Err))
		}
	}
	return refused(errors.Join(all...))
}
