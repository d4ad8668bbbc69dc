package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// Site is what is known about all stacks of a project.
type Site struct {
	// Rehearsed reports whether the stacks are on emulated hosts.
	Rehearsed bool
	// Written is when the page is written.
	Written time.Time
	// Picture is the site as an SVG.
	Picture []byte
	// Stacks are the stacks, the lowest layer first.
	Stacks []SiteStack
}

// SiteStack is what is known about a stack of a site.
type SiteStack struct {
	// Stack is the name of the stack.
	Stack string
	// Kind is what it brings up.
	Kind manifest.Kind
	// Layer is the number of its layer; the lowest is 1.
	Layer int
	// Status is its status; nil if it could not be asked for.
	Status *status.Report
	// Refused reports whether the status was refused, and not tried in vain.
	Refused bool
	// Problem is why there is no status, in a sentence that ends with what to do; empty if there is one.
	Problem string
	// Last is the newest run that left artifacts on this machine; nil for none.
	Last *artifacts.Past
}

// HTML returns the page without the secrets, as [Page.HTML] does.
func (s Site) HTML(secrets []string) ([]byte, error) {
	return written(siteLayout, secrets, func(redactor *artifacts.Redactor) any {
		return siteView{Site: s, look: lookOf(s.Picture, redactor)}
	})
}

// siteView is what the template of a site reads.
type siteView struct {
	Site
	look
}

// Title is the name of the page.
func (siteView) Title() string { return "Site" }

// Pictured is what the picture shows.
func (siteView) Pictured() string { return "Picture" }

// Rows are the stacks in words.
func (v siteView) Rows() []siteRow {
	rows := make([]siteRow, len(v.Stacks))
	for at, stack := range v.Stacks {
		rows[at] = siteRow{SiteStack: stack, hide: v.hide}
	}
	return rows
}

// Unsound is the number of stacks that are not sound.
func (v siteView) Unsound() int {
	return len(slices.DeleteFunc(v.Rows(), siteRow.IsSound))
}

// Verdict returns in a few words whether a stack needs attention.
func (v siteView) Verdict() string {
	if number := v.Unsound(); number > 0 {
		return fmt.Sprintf("%d of %s not sound", number, manifest.Counted(len(v.Stacks), "stack"))
	}
	return "sound"
}

// siteRow is a stack in the table of a site.
type siteRow struct {
	SiteStack

	hide func(string) string
}

// IsSound reports whether nothing is wrong with the stack, and everything could be read.
func (r siteRow) IsSound() bool { return r.Status != nil && len(r.Status.Lacks()) == 0 }

// Verdict is the status in the words of `em-infra site status`.
func (r siteRow) Verdict() string {
	switch {
	case r.IsSound():
		return "sound"
	case r.Status != nil:
		return "not sound"
	case r.Refused:
		return "refused"
	default:
		return "failed"
	}
}

// LastRun returns what the last run was and how it ended. If it left no artifacts here, the text is from the state.
func (r siteRow) LastRun() string {
	switch {
	case r.Last != nil:
		return string(r.Last.Name.Kind) + " " + shown(r.Last.Name.Taken) + ", " + took(*r.Last)
	case r.Status != nil && r.Status.State.LastUpdate != nil:
		last := r.Status.State.LastUpdate
		return last.Kind + " " + shown(last.Ended) + ", " + last.Result
	default:
		return "none"
	}
}

// Tasks are what is wrong, and what to do about it.
func (r siteRow) Tasks() []status.Line {
	if r.Status == nil {
		return []status.Line{{Text: r.Problem}}
	}
	var tasks []status.Line
	for _, lack := range r.Status.Lacks() {
		if !slices.Contains(r.Status.Unread, lack) { // what was not read is among the findings
			tasks = append(tasks, status.Line{Text: lack})
		}
	}
	return append(tasks, r.Status.Findings(r.hide)...)
}
