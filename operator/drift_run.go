package operator

import (
	"context"
	"errors"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// driftRun is the order of steps of a comparison.
type driftRun struct {
	// Reach returns why the host does not answer.
	Reach func(ctx context.Context) error
	// Host adds what differs on the host.
	Host func(ctx context.Context, report *drift.Report) error
	// Nodes adds what differs on the nodes, which are asked without the host; nil if there are none.
	Nodes func(ctx context.Context, report *drift.Report) error

	Place remedy.Place
}

// Run compares the host, then the nodes. A host that does not answer, or that could not be compared as a whole, since one of several is
// off, is reported as unread, and the nodes are still compared.
func (r driftRun) Run(ctx context.Context) (drift.Report, error) {
	report := drift.Report{Host: []drift.Difference{}, Nodes: []drift.Difference{}, Unread: []string{}}
	if err := r.Reach(ctx); err != nil {
		report.Unread = append(report.Unread, err.Error())
	} else if err := r.Host(ctx, &report); err != nil {
		if isNotOfWhatIsAsked(ctx, err) {
			return report, err
		}
		report.Unread = append(report.Unread, "not all of the host was compared: "+r.Place.Complete(inOneLine(err)))
	}
	if r.Nodes == nil {
		return report, nil
	}
	return report, r.Nodes(ctx, &report)
}

// inOneLine returns the text of an error in one line: a report has one line for each thing that could not be asked.
func inOneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// isNotOfWhatIsAsked reports whether an error is not about the host that was asked, but an interruption or a refusal. It is returned as it
// is: a report would contain nothing else, and its reader has to act on the error.
func isNotOfWhatIsAsked(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.As(err, new(*RefusedError))
}
