package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/stacks"
)

// comparePlugins reports plugins of other builds than the ones that wrote the state: official plugins after built ones, or the
// reverse. A change in the preview can then have another cause than an edit of the inventory.
func (c stackChanges) comparePlugins(ctx context.Context) error {
	exported, err := c.state.Last(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return nil
	}
	if err != nil {
		return c.state.Unreadable(err)
	}
	others, err := otherPlugins(exported.Deployment, c.program.Plugins)
	if len(others) > 0 {
		c.emit(OtherPlugins{others})
	}
	return err
}

// otherPlugins returns a sentence for each plugin of another build than the one that wrote the state.
func otherPlugins(deployment apitype.DeploymentV3, plugins map[string]string) ([]string, error) {
	outputs, err := engine.Outputs(deployment)
	if err != nil {
		return nil, err
	}
	var sentences []string
	for _, other := range toolchain.OtherPlugins(pluginsIn(outputs), plugins) {
		sentences = append(sentences, fmt.Sprint(other))
	}
	return sentences, nil
}

// pluginsIn returns the builds of the plugins in the outputs of a stack; empty if the outputs have none.
func pluginsIn(outputs auto.OutputMap) map[string]string {
	noted, _ := outputs[stacks.OutputPlugins].Value.(map[string]any)
	plugins := map[string]string{}
	for name, build := range noted {
		if text, isText := build.(string); isText {
			plugins[name] = text
		}
	}
	return plugins
}
