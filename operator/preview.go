package operator

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// PreviewOptions say what a preview is told.
type PreviewOptions struct {
	// Allow is what an up may do although a cluster can be lost by it. Default: nothing.
	Allow []Permission
	// Diff has the engine print every property that differs. Default: false.
	Diff bool
	// ImportFile is written with what would be made, for `pulumi import --file`. Default: none is.
	ImportFile string
	// SkipRefresh compares with the state alone instead of reading the host first. Default: false.
	SkipRefresh bool
}

// Preview is what an up would do.
type Preview struct {
	// Assessment is what that means for nodes, quorum and data.
	Assessment
	// Changes are the resources by what would be done to them.
	Changes map[apitype.OpType]int
	// Refusal is why up would stop; empty when it would not.
	Refusal string
	// Host has the checks of the host that are not in order.
	Host Checks
	// Images are the nodes that run another image than the inventory's, which no run changes.
	Images OtherImages

	changes bool
}

// HasChanges reports whether an up would do anything.
func (p *Preview) HasChanges() bool { return p.changes }

// Err is a [RefusedError] where up would stop, [ErrChanges] where it would do something, and nil where it would do nothing.
func (p *Preview) Err() error {
	switch {
	case p.Refusal != "":
		return refused(errors.New(p.Refusal))
	case p.changes:
		return ErrChanges
	default:
		return nil
	}
}

// Preview finds out what up would do and what that means, and does nothing.
func (o *Operator) Preview(ctx context.Context, options PreviewOptions) (*Preview, error) {
	s, err := o.begin(ctx, needs{newStack: true, refresh: !options.SkipRefresh})
	if err != nil {
		return nil, err
	}
	return s.foresee(ctx, options)
}

// foresee asks the host what up asks it, while the engine thinks. Where the host refuses, it does not matter that the engine failed.
func (s *session) foresee(ctx context.Context, options PreviewOptions) (*Preview, error) {
	if err := s.findFormerNames(ctx); err != nil {
		return nil, err
	}
	host := s.preflightBeside(ctx)
	judged, images, err := s.think(ctx, options)
	report, unasked := host()
	refusal := hostRefusal(report)
	switch {
	case err != nil && refusal != "":
		s.emit(HostChecked{Checks: s.inPlaceOf(report.Unsound())})
		return nil, refused(errors.New(refusal))
	case err != nil || unasked != nil:
		return nil, cmp.Or(err, unasked)
	}
	return &Preview{
		Assessment: judged.Assessment, Changes: judged.counts, Host: s.inPlaceOf(report.Unsound()), Images: images,
		Refusal: strings.Trim(judged.Refusal(options.Allow)+"\n"+refusal, "\n"), changes: judged.hasChanges(),
	}, nil
}

// think finds out what up would do, in the state and on the nodes.
func (s *session) think(ctx context.Context, options PreviewOptions) (judged judgement, others OtherImages, err error) {
	if err := s.foreseeRecovery(ctx); err != nil {
		return judged, others, err
	}
	seen, err := s.findOutOfBand(ctx)
	if err != nil {
		return judged, others, err
	}
	if judged, err = s.judge(ctx, seen, nil, options.ofEngine()...); err != nil {
		return judged, others, err
	}
	others, err = s.otherImages(ctx)
	return judged, others, err
}

func (o PreviewOptions) ofEngine() []optpreview.Option {
	var options []optpreview.Option
	if o.ImportFile != "" {
		options = append(options, optpreview.ImportFile(o.ImportFile))
	}
	if o.Diff {
		options = append(options, optpreview.Diff())
	}
	return options
}

// hostRefusal is why up stops before it begins, which a preview says, too; empty when nothing is in the way.
func hostRefusal(report preflight.Report) string {
	if report.Count(preflight.Fail) == 0 {
		return ""
	}
	return "refused: the host cannot bear it yet; " + report.Summary() + ". Nothing was touched"
}
