package nodeops

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// RollConfiguration changes the machine configuration of a node in its lane, and returns when the node works with it. Talos reboots a node if the
// change requires it; the node is drained before. If the node already has the configuration, RollConfiguration only waits for it. The error names the
// node.
func (h Health) RollConfiguration(ctx context.Context, lane *rolling.Lane, node rolling.Node, change func(*v1alpha1.Config)) error {
	former, wanted, err := h.configurations(ctx, node, change)
	if err != nil {
		return fmt.Errorf("%s: %w", node.Name, err)
	}
	if err := lane.Enter(ctx, rolling.Change{Node: node, Configuration: wanted}); err != nil {
		return err
	}
	if !bytes.Equal(former, wanted) {
		if err := h.apply(ctx, node, wanted); err != nil {
			return errors.Join(fmt.Errorf("%s does not take its configuration: %w", node.Name, err), lane.Decline(ctx, node))
		}
	}
	return lane.Leave(ctx, node)
}

// configurations returns the machine configuration that a node runs, and the changed one, both secret.
func (h Health) configurations(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) (former, wanted []byte, err error) {
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		running, err := RunningConfiguration(ctx, api)
		if err != nil {
			return err
		}
		former, wanted, err = patched(running, change)
		return err
	})
	return former, wanted, err
}

// apply applies a configuration as the provider does: Talos reboots the node if it has to.
func (h Health) apply(ctx context.Context, node rolling.Node, configuration []byte) error {
	return h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
			Data: configuration, Mode: machineapi.ApplyConfigurationRequest_AUTO,
		})
		return err
	})
}
