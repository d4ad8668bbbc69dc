package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/page"
)

// SiteReport is the report of all stacks of a project, which are added one after the other, the lowest layer first.
type SiteReport struct {
	page    page.Site
	picture SitePicture
	secrets []string
	file    string
}

// Add asks for the status of a stack and adds it. A stack whose status cannot be had is on the page with the reason. It only reads.
func (r *SiteReport) Add(ctx context.Context, o *Operator) error {
	content, err := o.Content()
	if err != nil {
		return refused(err)
	}
	stack := page.SiteStack{Stack: o.workspace.Stack, Kind: content.Kind(), Layer: slices.Index(layers, content.Kind()) + 1}
	drawn, err := r.ask(ctx, o, &stack)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		stack.Refused, stack.Problem = errors.As(err, new(*RefusedError)), o.remedies().Complete(err.Error())
		if drawn, err = o.pictureUnasked(content); err != nil { // its lab does not have its network: it is drawn with its own addresses
			drawn = unasked(content)
		}
	}
	runs, err := o.artifacts().Runs()
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		stack.Last = &runs[0]
	}
	r.page.Stacks = append(r.page.Stacks, stack)
	r.file = o.workspace.SitePage()
	r.page.Rehearsed, r.page.Written = o.workspace.Rehearsed, o.clock.Now()
	return r.picture.add(o, drawn)
}

// ask fills in the status of a stack, remembers its secrets, and returns its picture.
func (r *SiteReport) ask(ctx context.Context, o *Operator, stack *page.SiteStack) (graph.Drawn, error) {
	s, err := o.begin(ctx, needs{anyKind: true, hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	r.secrets = append(r.secrets, s.engine.secrets...)
	secrets, err := s.inState().secrets(ctx)
	if err != nil {
		return nil, err
	}
	r.secrets = append(r.secrets, secrets...)
	found, err := s.status().read(ctx)
	if err != nil {
		return nil, err
	}
	stack.Status = &found.StatusReport
	return pictureWith(s.engine.content, found.StatusReport), nil
}

// File is the usual file of the page.
func (r *SiteReport) File() string { return r.file }

// HTML returns the page without the secrets of all its stacks.
func (r *SiteReport) HTML() ([]byte, error) {
	written := r.page
	written.Picture = r.picture.SVG()
	return written.HTML(r.secrets)
}
