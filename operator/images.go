package operator

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// wantedImages returns the image of each node by its name, as the inventory wants it. factory is the URL of the Image Factory.
func wantedImages(inv *inventory.Inventory, factory string) (map[string]status.Image, error) {
	base, err := factoryURL(factory)
	if err != nil {
		return nil, err
	}
	wanted, err := stacks.Images(inv, base)
	if err != nil {
		return nil, err
	}
	images := make(map[string]status.Image, len(wanted))
	for name, image := range wanted {
		images[name] = status.Image(image)
	}
	return images, nil
}

// OtherImages contains the nodes whose image differs from the inventory's.
type OtherImages struct {
	// Other images, each with its node.
	Other []status.OtherImage `json:"other"`
	// Unread are the nodes that could not be asked, a sentence each.
	Unread []string `json:"unread,omitempty"`
}

// Besides returns the images without those of nodes that are upgraded according to an assessment.
func (o OtherImages) Besides(assessment Assessment) OtherImages {
	o.Other = slices.DeleteFunc(slices.Clone(o.Other), func(other status.OtherImage) bool {
		return slices.ContainsFunc(assessment.Findings, func(f Finding) bool { return f.Kind == risk.Upgrade && f.Subject == other.Node })
	})
	return o
}

// WriteText writes a line for each node.
func (o OtherImages) WriteText(out io.Writer) {
	for _, other := range o.Other {
		fmt.Fprintf(out, "%s\n", other)
	}
	for _, reason := range o.Unread {
		fmt.Fprintf(out, "which image it runs was not read: %s\n", reason)
	}
}

// OtherImages compares the images of the nodes of a running cluster with the inventory. Before the cluster runs, there are no nodes to ask.
func (c comparison) OtherImages(ctx context.Context) (OtherImages, error) {
	found := OtherImages{Other: []status.OtherImage{}}
	exported, err := c.engine.state.Seen(ctx)
	if err != nil {
		return found, err
	}
	outputs, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return found, err
	}
	if len(secretOf(outputs, stacks.OutputKubeconfig)) == 0 {
		return found, nil
	}
	images, err := wantedImages(c.inventory, c.sources.factory)
	if err != nil {
		return found, err
	}
	addresses, _ := outputs[stacks.OutputNodeAddresses].Value.(map[string]any)
	sources := status.Sources{Inventory: c.inventory, Images: images, Talosconfig: secretOf(outputs, stacks.OutputTalosconfig)}
	others, unread := sources.OtherImages(ctx, slices.Sorted(maps.Keys(addresses)))
	found.Other, found.Unread = append(found.Other, others...), unread
	return found, nil
}
