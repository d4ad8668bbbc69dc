package operator

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

// PreviewOptions are the options of [Operator.Preview].
type PreviewOptions struct {
	// Allow lists the risks for the cluster that an up may take. Default: none.
	Allow []Permission
	// Diff makes the engine print every property that differs. Default: false.
	Diff bool
	// ImportFile is a file that the preview writes with the resources to create, for `pulumi import --file`. Default: none.
	ImportFile string
	// SkipRefresh compares with the state alone, without reading the host first. Default: false.
	SkipRefresh bool
}

// Preview is the result of [Operator.Preview].
type Preview struct {
	// Assessment is the meaning of the changes for nodes, quorum and data.
	Assessment
	// Changes are the numbers of resources by operation.
	Changes map[apitype.OpType]int
	// Refusal is the reason why up would stop; empty if it would not.
	Refusal string
	// Fingerprint identifies the plan, for [UpOptions.Plan].
	Fingerprint string
	// Host contains the checks of the host that did not pass.
	Host Checks
	// Images contains the nodes that run another image than the inventory's. An up upgrades them in place.
	Images OtherImages

	changes bool
	steps   []plan.Step
	allowed []Permission
	stack   string
	place   remedy.Place
	hide    *artifacts.Redactor // of the secrets of the configuration and of the state
}

// HasChanges reports whether an up would change anything.
func (p *Preview) HasChanges() bool { return p.changes }

// Err returns a [RefusedError] if up would stop, [ErrChanges] if it would change something, and nil otherwise.
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

// Preview determines what up would do, and assesses it. It changes nothing.
func (o *Operator) Preview(ctx context.Context, options PreviewOptions) (*Preview, error) {
	s, err := o.begin(ctx, needs{anyKind: true, newStack: true, refresh: !options.SkipRefresh})
	if err != nil {
		return nil, err
	}
	run := previewRun{
		Recovery: s.recovery, Host: s.hostChecks(false), Engine: s.changes(s.restorer(nil, nil)), Nodes: s.comparison(), Place: s.place, Tell: s.emit,
	}
	if s.layer != nil {
		run.Nodes = s.layerComparison()
	}
	found, err := run.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	found.stack, found.place, found.allowed = s.workspace.Stack, s.place, options.Allow
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	secrets, err := state.SecretTexts(exported.Deployment)
	if err != nil {
		return nil, err
	}
	found.hide = artifacts.NewRedactor(append(secrets, s.engine.secrets...))
	return found, nil
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
