package operator

import (
	"context"
	"fmt"
	"slices"
)

// siteRun is one operation on each stack of a site.
type siteRun struct {
	Operation SiteOperation
	Stacks    siteStacks
	Events    SiteEvents
}

// siteStacks are the stacks of a site.
type siteStacks interface {
	// ByLayer returns them, the lowest layer first, in a slice that the caller may change.
	ByLayer() ([]StackSummary, error)
	// FindLabs makes the stacks of a rehearsal share labs if share is true. Otherwise it refuses if there is no lab to work on.
	FindLabs(ctx context.Context, share bool) error
	// Work does the operation on one stack, and notes its result there.
	Work(ctx context.Context, operation SiteOperation, stack *SiteStack) error
}

var _ siteStacks = projectSite{}

// siteOrder is how an operation goes through the stacks of a site.
type siteOrder struct {
	stops      bool // at the first stack on which it does not end well; otherwise only after an interrupt
	fromTop    bool // from the highest layer to the lowest
	sharesLabs bool // from then on
	work       func(*SiteStack, context.Context, *Operator) error
}

var siteOrders = map[SiteOperation]siteOrder{
	SiteUp:      {stops: true, sharesLabs: true, work: (*SiteStack).up},
	SitePreview: {work: (*SiteStack).preview},
	SiteStatus:  {work: (*SiteStack).status},
	SiteDestroy: {stops: true, fromTop: true, work: (*SiteStack).destroy},
}

// Run works on one stack after the other. If the context ends, the operation on the present stack returns its own error for that, and no stack is
// begun after one that has not ended well.
func (r siteRun) Run(ctx context.Context) (*SiteResult, error) {
	order, known := siteOrders[r.Operation]
	if !known {
		return nil, refused(fmt.Errorf("%q is no operation on a site: choose up, preview, status or destroy", r.Operation))
	}
	site, err := r.Stacks.ByLayer()
	if err != nil {
		return nil, err
	}
	if order.fromTop {
		slices.Reverse(site)
	}
	if err := r.Stacks.FindLabs(ctx, order.sharesLabs); err != nil {
		return nil, err
	}
	result := &SiteResult{}
	for i, stack := range site {
		one := SiteStack{StackSummary: stack, Number: i + 1, Of: len(site), Outcome: SiteNotBegun}
		if result.Stopped() == nil {
			r.Events.Begun(one)
			one.Err = r.Stacks.Work(ctx, r.Operation, &one)
			one.Outcome, one.Stops = outcomeOf(one.Err), one.Err != nil && (order.stops || ctx.Err() != nil)
			r.Events.Ended(one)
		}
		result.Stacks = append(result.Stacks, one)
	}
	return result, nil
}

func (s *SiteStack) up(ctx context.Context, o *Operator) error {
	result, err := o.Up(ctx, UpOptions{})
	if err != nil {
		return err
	}
	s.Up = result
	return nil
}

func (s *SiteStack) preview(ctx context.Context, o *Operator) error {
	result, err := o.Preview(ctx, PreviewOptions{})
	if err != nil {
		return err
	}
	s.Preview = result
	return result.Err()
}

func (s *SiteStack) status(ctx context.Context, o *Operator) error {
	result, err := o.Status(ctx)
	if err != nil {
		return err
	}
	s.Status = result
	return result.Err()
}

func (s *SiteStack) destroy(ctx context.Context, o *Operator) error {
	result, err := o.Destroy(ctx, DestroyOptions{})
	if err != nil {
		return err
	}
	s.Destroyed = result
	return nil
}
