package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// chooseNodes takes the canary and the only node of the options. It refuses names that are no nodes.
func (e *stackEngine) chooseNodes(options UpOptions) error {
	var problems []error
	for _, chosen := range []struct{ flag, name string }{{"--canary", options.Canary}, {"--only-node", options.OnlyNode}} {
		if chosen.name != "" && !slices.Contains(nodeNames(e.cluster()), chosen.name) {
			problems = append(problems, fmt.Errorf("%s: %s is no node of the inventory: give the name of one in nodes.yaml", chosen.flag, chosen.name))
		}
	}
	if len(problems) > 0 {
		return refused(errors.Join(problems...))
	}
	if options.Canary != "" {
		e.program.Canary = options.Canary
		e.cluster().Cluster.Upgrade.Canary = options.Canary // the preview says the order
		e.setProgram(e.program.Until)
	}
	return nil
}

// narrowToNode returns the resources of one node, with what they need: secrets and schematics, which no node notices.
func (c stackChanges) narrowToNode(ctx context.Context, node string) (targets []string, err error) {
	_, seen, err := c.preview(ctx)
	if err != nil {
		return nil, err
	}
	inv := c.cluster()
	owners := nodeNames(inv)
	for i, name := range owners {
		owners[i] = components.NodeName(inv.Cluster.Name, name)
	}
	wanted := components.NodeName(inv.Cluster.Name, node)
	for _, event := range seen {
		if event.ResourcePreEvent == nil {
			continue
		}
		urn := resource.URN(event.ResourcePreEvent.Metadata.URN)
		if span.OwnerOf(urn.Name(), owners) == wanted || phase.Of(urn) == phase.Generate && span.OwnerOf(urn.Name(), owners) == "" {
			targets = append(targets, string(urn))
		}
	}
	slices.Sort(targets)
	return c.untorn(ctx, seen, slices.Compact(targets))
}

func nodeNames(inv *inventory.Inventory) []string {
	names := make([]string, len(inv.Nodes))
	for i, node := range inv.Nodes {
		names[i] = node.Name
	}
	return names
}
