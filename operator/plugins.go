package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/stacks"
)

// comparePlugins tells which plugins are other builds than those that wrote the state: official ones where built ones were in use
// before, or the other way round. What is to change then has another reason than an edit of the inventory.
func (s *session) comparePlugins(ctx context.Context) error {
	exported, err := s.lastState(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return nil
	}
	if err != nil {
		return s.unreadable(err)
	}
	outputs, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return err
	}
	others := toolchain.OtherPlugins(pluginsIn(outputs), s.program.Plugins)
	if len(others) > 0 {
		sentences := make([]string, len(others))
		for i, other := range others {
			sentences[i] = fmt.Sprint(other)
		}
		s.emit(OtherPlugins{sentences})
	}
	return nil
}

// pluginsIn are the builds of plugins that the outputs of a stack name; none where nobody noted them.
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
