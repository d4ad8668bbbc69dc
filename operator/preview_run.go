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

// previewRun is the order of steps of a preview.
type previewRun struct {
	Recovery previewRecovery
	Host     previewHost
	Engine   previewEngine
	Nodes    previewNodes

	Place remedy.Place
	Tell  func(Event)
}

// previewHost is the access of a preview to Proxmox VE. It changes nothing there.
type previewHost interface {
	// FindFormerNames reads from the state which machines are ours.
	FindFormerNames(ctx context.Context) error
	// ExamineHost checks whether the host can run what the inventory describes.
	ExamineHost(ctx context.Context) (preflight.Report, error)
}

// previewRecovery finds the leftovers of killed runs.
type previewRecovery interface {
	// Foresee determines which leftovers an up would delete or adopt. It changes nothing.
	Foresee(ctx context.Context) error
}

// previewEngine is the access of a preview to the engine.
type previewEngine interface {
	// Judge runs a preview and assesses its changes.
	Judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error)
}

// previewNodes is the access of a preview to the nodes.
type previewNodes interface {
	// FindOutOfBand finds changes that the engine does not see.
	FindOutOfBand(ctx context.Context) (outOfBand, error)
	// OtherImages returns the nodes that run another image than the inventory's.
	OtherImages(ctx context.Context) (OtherImages, error)
}

var (
	_ previewHost   = (*hostChecks)(nil)
	_ previewEngine = stackChanges{}
	_ previewNodes  = comparison{}
)

// Run checks the host while the engine previews: both take seconds. If the host's checks fail, their refusal takes precedence over
// an error of the engine.
func (r previewRun) Run(ctx context.Context, options PreviewOptions) (*Preview, error) {
	if err := r.Host.FindFormerNames(ctx); err != nil {
		return nil, err
	}
	host := r.beside(ctx)
	judged, images, err := r.think(ctx, options)
	report, unasked := host()
	refusal := hostRefusal(report)
	switch {
	case err != nil && refusal != "":
		r.Tell(HostChecked{Checks: report.Unsound().At(r.Place)})
		return nil, refused(errors.New(refusal))
	case err != nil || unasked != nil:
		return nil, cmp.Or(err, unasked)
	}
	return &Preview{
		Assessment: judged.Assessment, Changes: judged.Counts, Host: report.Unsound().At(r.Place), Images: images,
		Refusal: strings.Trim(judged.Refusal(options.Allow)+"\n"+refusal, "\n"), changes: judged.HasChanges(),
		Fingerprint: judged.Fingerprint, steps: judged.Steps,
	}, nil
}

// beside checks the host in the background. The returned function waits for the result.
func (r previewRun) beside(ctx context.Context) func() (preflight.Report, error) {
	type answer struct {
		report preflight.Report
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		report, err := r.Host.ExamineHost(ctx)
		answers <- answer{report, err}
	}()
	return sync.OnceValues(func() (preflight.Report, error) {
		given := <-answers
		return given.report, given.err
	})
}

// think determines what up would do, from the state and the nodes.
func (r previewRun) think(ctx context.Context, options PreviewOptions) (judged judgement, others OtherImages, err error) {
	if err := r.Recovery.Foresee(ctx); err != nil {
		return judged, others, err
	}
	seen, err := r.Nodes.FindOutOfBand(ctx)
	if err != nil {
		return judged, others, err
	}
	if judged, err = r.Engine.Judge(ctx, seen, nil, options.ofEngine()...); err != nil {
		return judged, others, err
	}
	others, err = r.Nodes.OtherImages(ctx)
	return judged, others, err
}

// hostRefusal returns why up stops because of the host; empty if it does not. A preview reports it, too.
func hostRefusal(report preflight.Report) string {
	if report.Count(preflight.Fail) == 0 {
		return ""
	}
	return "refused: the host does not meet the requirements yet; " + report.Summary() + ". Nothing was touched"
}
