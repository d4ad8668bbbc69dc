package components

import (
	"context"
	"sync/atomic"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// nextConfiguration is the machine configuration that a node will get after its machine, in the same run. It is announced
// before the machine is registered, so hooks of the machine can ask for it.
type nextConfiguration struct {
	parts atomic.Pointer[pulumi.ArrayOutput]
}

// announce keeps the parts unmerged: merging takes time, and only few hooks ask for the result.
func (n *nextConfiguration) announce(configuration pulumi.StringInput, patches pulumi.StringArrayInput) {
	if n == nil {
		return
	}
	if patches == nil {
		patches = pulumi.StringArray{}
	}
	parts := pulumi.All(configuration, patches)
	n.parts.Store(&parts)
}

// text returns the whole configuration, secret; nil if no configuration follows, or if it cannot be merged.
func (n *nextConfiguration) text(ctx context.Context) ([]byte, error) {
	parts := n.parts.Load()
	if parts == nil {
		return nil, nil
	}
	result, err := internals.UnsafeAwaitOutput(ctx, *parts)
	if err != nil || !result.Known {
		return nil, err
	}
	values, _ := result.Value.([]any)
	if len(values) != 2 {
		return nil, nil
	}
	configuration, _ := values[0].(string)
	patches, _ := values[1].([]string)
	return mergedConfiguration(configuration, patches), nil
}

// stage gives a machine that is about to reboot its next configuration for that boot, if Talos would otherwise reboot again for
// it and its pods would be drained twice. If staging fails, the node reboots twice.
func (r *rollout) stage(ctx context.Context, node rolling.Node, next *nextConfiguration) {
	health, err := r.health()
	if err != nil || !nodeops.IsAlive(ctx, health.Talosconfig, node.Address.String()) {
		return // it is off; the next attempt comes when it is on
	}
	configuration, err := next.text(ctx)
	staged := false
	if err == nil && len(configuration) > 0 {
		staged, err = health.Stage(ctx, node, configuration)
	}
	switch {
	case err != nil:
		health.Say("%s reboots once more for its configuration, which cannot be staged: %v", node.Name, err)
	case staged:
		health.Say("%s applies its new configuration with the same reboot", node.Name)
	}
}
