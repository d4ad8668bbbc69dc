package operator

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
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
	return previewRun{recovery: s.recovery, host: s, engine: s, nodes: s, place: s.place, tell: s.emit}.run(ctx, options)
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
