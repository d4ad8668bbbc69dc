package operator

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// previewRun is the order in which it is found out what an up would do. Each step is done by one of the parts.
type previewRun struct {
	recovery previewRecovery
	host     previewHost
	engine   previewEngine
	nodes    previewNodes

	place remedy.Place
	tell  func(Event)
}

// previewHost is what a preview asks of Proxmox VE. It changes nothing there.
type previewHost interface {
	// findFormerNames finds out which machines are ours, as the state says.
	findFormerNames(ctx context.Context) error
	// examineHost finds out whether the host can bear what the inventory says.
	examineHost(ctx context.Context) (preflight.Report, error)
}

// previewRecovery knows what killed runs have left.
type previewRecovery interface {
	// Foresee finds out what an up would delete or adopt of that. It changes nothing.
	Foresee(ctx context.Context) error
}

// previewEngine is what a preview has the engine do.
type previewEngine interface {
	// judge previews, and judges what that means.
	judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error)
}

// previewNodes is what a preview asks of the nodes.
type previewNodes interface {
	// findOutOfBand finds what was changed beside the engine.
	findOutOfBand(ctx context.Context) (outOfBand, error)
	// otherImages are the nodes that run another image than the inventory's.
	otherImages(ctx context.Context) (OtherImages, error)
}

var (
	_ previewHost   = (*session)(nil)
	_ previewEngine = (*session)(nil)
	_ previewNodes  = (*session)(nil)
)

// run asks the host what up asks it, while the engine thinks: both take seconds. Where the host refuses, it does not matter that the
// engine failed.
func (r previewRun) run(ctx context.Context, options PreviewOptions) (*Preview, error) {
	if err := r.host.findFormerNames(ctx); err != nil {
		return nil, err
	}
	host := r.beside(ctx)
	judged, images, err := r.think(ctx, options)
	report, unasked := host()
	refusal := hostRefusal(report)
	switch {
	case err != nil && refusal != "":
		r.tell(HostChecked{Checks: report.Unsound().At(r.place)})
		return nil, refused(errors.New(refusal))
	case err != nil || unasked != nil:
		return nil, cmp.Or(err, unasked)
	}
	return &Preview{
		Assessment: judged.Assessment, Changes: judged.counts, Host: report.Unsound().At(r.place), Images: images,
		Refusal: strings.Trim(judged.Refusal(options.Allow)+"\n"+refusal, "\n"), changes: judged.hasChanges(),
	}, nil
}

// beside asks the host while the engine thinks. What the state says is known before. The result waits for the answer.
func (r previewRun) beside(ctx context.Context) func() (preflight.Report, error) {
	type answer struct {
		report preflight.Report
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		report, err := r.host.examineHost(ctx)
		answers <- answer{report, err}
	}()
	return sync.OnceValues(func() (preflight.Report, error) {
		given := <-answers
		return given.report, given.err
	})
}

// think finds out what up would do, in the state and on the nodes.
func (r previewRun) think(ctx context.Context, options PreviewOptions) (judged judgement, others OtherImages, err error) {
	if err := r.recovery.Foresee(ctx); err != nil {
		return judged, others, err
	}
	seen, err := r.nodes.findOutOfBand(ctx)
	if err != nil {
		return judged, others, err
	}
	if judged, err = r.engine.judge(ctx, seen, nil, options.ofEngine()...); err != nil {
		return judged, others, err
	}
	others, err = r.nodes.otherImages(ctx)
	return judged, others, err
}

// hostRefusal is why up stops before it begins, which a preview says, too; empty when nothing is in the way.
func hostRefusal(report preflight.Report) string {
	if report.Count(preflight.Fail) == 0 {
		return ""
	}
	return "refused: the host cannot bear it yet; " + report.Summary() + ". Nothing was touched"
}
