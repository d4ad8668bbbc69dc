package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

// SitePicture is the picture of all stacks of a project, which are added one after the other, the lowest layer first.
type SitePicture struct{ stacks []graph.Stack }

// Add adds a stack, as [Operator.Graph] draws it.
func (p *SitePicture) Add(ctx context.Context, o *Operator) error {
	drawn, err := o.picture(ctx)
	if err != nil {
		return err
	}
	return p.add(o, drawn)
}

func (p *SitePicture) add(o *Operator, drawn graph.Drawn) error {
	endpoint, err := o.workspace.RealEndpoint()
	if err != nil {
		return refused(err)
	}
	if endpoint != "" {
		endpoint = pve.Origin(endpoint)
	}
	p.stacks = append(p.stacks, graph.Stack{Name: o.workspace.Stack, Endpoint: endpoint, Drawn: drawn})
	return nil
}

// SVG draws what was added.
func (p *SitePicture) SVG() []byte { return graph.SVG(graph.Site{Stacks: p.stacks}) }
