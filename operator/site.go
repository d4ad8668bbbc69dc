package operator

import (
	"context"
	"errors"
	"fmt"
)

// SiteOperation is what [RunSite] does with each stack of a site.
type SiteOperation string

// The operations on a site. Those that change it stop at the first stack that is refused or fails, because the layers above stand on it; the
// others look at all stacks. An interrupt stops each of them.
const (
	// SiteUp is [Operator.Up], the lowest layer first. Rehearsals of stacks of one Proxmox VE share a lab from then on.
	SiteUp SiteOperation = "up"
	// SitePreview is [Operator.Preview], the lowest layer first.
	SitePreview SiteOperation = "preview"
	// SiteStatus is [Operator.Status], the lowest layer first.
	SiteStatus SiteOperation = "status"
	// SiteDestroy is [Operator.Destroy], the highest layer first.
	SiteDestroy SiteOperation = "destroy"
)

// SiteOptions are the options of [RunSite] and [EachStack].
type SiteOptions struct {
	// Project is a folder of the project. Default: the current folder.
	Project string
	// Lab provides the emulated hosts of a rehearsal. Default: nil, the real hosts.
	Lab Lab
	// Options returns the options of [Open] for a stack. Stack, Inventory, Project and Lab are those of the site, regardless of what it returns. Its
	// error is that of the stack. Default: nil, the defaults of all options; then operations that need consent are refused.
	Options func(stack StackSummary) (Options, error)
	// Events receive the begin and the end of each stack in [RunSite]. What happens on a stack goes to the Events of its Options.
	// Default: nil, none.
	Events SiteEvents
}

// SiteEvents receive the stacks that a run on a site works on, one after the other.
type SiteEvents interface {
	// Begun is called before the operation on a stack.
	Begun(stack SiteStack)
	// Ended is called after it, with what came of it.
	Ended(stack SiteStack)
}

// RunSite does an operation with its default options on each stack of a project, one after the other. A stack whose changes need [UpOptions.Allow] is
// brought up alone, by [Operator.Up]. A site has no state, no lock and no consent: each stack has its own. RunSite returns an error only if it
// touched no stack; otherwise the result contains the outcome of each stack, and [SiteResult.Err] returns the error that follows from them.
//
// The variables that secrets.sops.yaml of a stack sets in the environment of this process (see [Operator.CompleteEnvironment]) are removed before the
// next stack. So a process must work on one site at a time, and on no other stack meanwhile.
func RunSite(ctx context.Context, operation SiteOperation, options SiteOptions) (*SiteResult, error) {
	events := options.Events
	if events == nil {
		events = noSiteEvents{}
	}
	return siteRun{Operation: operation, Stacks: projectSite{options}, Events: events}.Run(ctx)
}

// EachStack opens the stacks of a project one after the other, the lowest layer first, such as for [SitePicture.Add] and [SiteReport.Add]. It ends at
// the first error, which it returns with the name of the stack. As in [RunSite], the environment is that of one stack at a time, so an Operator can
// be used only until the call with it returns. It does not look for the labs of a rehearsal: [CheckRehearsed] does.
func EachStack(ctx context.Context, options SiteOptions, use func(context.Context, *Operator) error) error {
	site := projectSite{options}
	stacks, err := site.ByLayer()
	if err != nil {
		return err
	}
	for _, stack := range stacks {
		if err := site.on(ctx, stack, use); err != nil {
			return fmt.Errorf("%s: %w", stack.Stack, err)
		}
	}
	return nil
}

type noSiteEvents struct{}

func (noSiteEvents) Begun(SiteStack) {}
func (noSiteEvents) Ended(SiteStack) {}

// projectSite is the site of a project's stacks.
type projectSite struct{ SiteOptions }

// ByLayer implements [siteStacks].
func (s projectSite) ByLayer() ([]StackSummary, error) { return StacksByLayer(s.Project) }

// FindLabs implements [siteStacks].
func (s projectSite) FindLabs(ctx context.Context, share bool) error {
	switch {
	case s.Lab == nil:
		return nil
	case share:
		return ShareLabs(ctx, s.Project, s.Lab)
	default:
		return CheckRehearsed(s.Project, s.Lab)
	}
}

// Work implements [siteStacks].
func (s projectSite) Work(ctx context.Context, operation SiteOperation, stack *SiteStack) error {
	return s.on(ctx, stack.StackSummary, func(ctx context.Context, o *Operator) error {
		return siteOrders[operation].work(stack, ctx, o)
	})
}

// on opens a stack and does some work on it. The variables from the secrets of the stack are in the environment until the work ends.
func (s projectSite) on(ctx context.Context, stack StackSummary, work func(context.Context, *Operator) error) (err error) {
	var options Options
	if s.Options != nil {
		if options, err = s.Options(stack); err != nil {
			return err
		}
	}
	options.Stack, options.Inventory, options.Project, options.Lab = stack.Stack, "", s.Project, s.Lab
	o, err := Open(options)
	if err != nil {
		return err
	}
	var environment lentEnvironment
	defer func() {
		if failed := environment.putBack(); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	if err := o.CompleteEnvironment(environment.set); err != nil {
		return err
	}
	return work(ctx, o)
}
