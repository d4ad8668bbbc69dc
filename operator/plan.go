package operator

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/review"
)

// IsPlanned refuses a plan that is not the one to be carried out.
func (w work) IsPlanned(fingerprint string) error {
	switch {
	case w.Plan == "" || w.Plan == fingerprint:
		return nil
	case w.Again:
		return fmt.Errorf("the plan %s is carried out; what is in the cluster is no part of it, because the Kubernetes API did not answer then: look at `em-infra preview`, then run `em-infra up` again with the fingerprint that it shows", w.Plan)
	default:
		return fmt.Errorf("the plan is %s by now, and not %s: nothing was touched; look at `em-infra preview` again, then give --plan the fingerprint that it shows", fingerprint, w.Plan)
	}
}

// CommentMarker returns the first line of the comment of [Preview.WriteMarkdown] for a stack. It is not visible, and identifies the comment that the
// next one replaces.
func CommentMarker(stack string) string { return review.Marker(stack) }

// WriteMarkdown writes the preview as a comment for reviewers, in Markdown: what is refused, what each change means, and how to carry out
// this plan and no other one, with the permissions that it needs. No secret and no value of a property is in it.
func (p *Preview) WriteMarkdown(out io.Writer) error {
	up := strings.Trim(p.place.Complete("`em-infra up`"), "`") + " --yes --plan " + p.Fingerprint
	for _, allowed := range slices.Concat(p.allowed, p.Missing(p.allowed)) {
		up += " " + allowed.String()
	}
	shown := review.Plan{
		Stack: p.stack, Up: up, Assessment: p.Assessment, Refusal: p.Refusal, Checks: p.Host, Counts: p.Changes, Steps: plan.Changing(p.steps),
		Hide: func(text string) string { return string(p.hide.Redact([]byte(text))) },
	}
	images := p.Images.Besides(p.Assessment)
	for _, other := range images.Other {
		shown.Besides = append(shown.Besides, other.String())
	}
	for _, reason := range images.Unread {
		shown.Besides = append(shown.Besides, "which image it runs was not read: "+reason)
	}
	_, err := io.WriteString(out, shown.Comment(review.Limit))
	return err
}
