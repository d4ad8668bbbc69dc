package nodeops

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cosi-project/runtime/pkg/safe"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	machineconfig "github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// Patch changes the machine configuration that a node runs, without a reboot; the rest of it stays as it is. A node that has
// it already is not asked to apply it. The calls are those of [Ask].
func Patch(ctx context.Context, api *client.Client, change func(*v1alpha1.Config)) (isChanged bool, err error) {
	running, err := RunningConfiguration(ctx, api)
	if err != nil {
		return false, err
	}
	former, wanted, err := patched(running, change)
	if err != nil || bytes.Equal(former, wanted) {
		return false, err
	}
	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
		Data: wanted, Mode: machineapi.ApplyConfigurationRequest_NO_REBOOT,
	})
	return err == nil, err
}

// Configure is [Patch] for a node, and returns when the node runs with the changed configuration: it accepts one before it uses it.
// The error is one clause about the node, without its name.
func (h Health) Configure(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) (isChanged bool, err error) {
	address := node.Address.String()
	err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) (err error) {
		isChanged, err = Patch(ctx, api, change)
		return err
	})
	if err != nil || !isChanged {
		return false, err
	}
	last := errors.New("it has not taken its new configuration yet")
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := h.ask(ctx, address, func(ctx context.Context, api *client.Client) error { return runsWith(ctx, api, change) })
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	}) != nil {
		return true, fmt.Errorf("%w (%w)", last, context.Cause(ctx))
	}
	return true, nil
}

func runsWith(ctx context.Context, api *client.Client, change func(*v1alpha1.Config)) error {
	running, err := RunningConfiguration(ctx, api)
	if err != nil {
		return err
	}
	former, wanted, err := patched(running, change)
	if err == nil && !bytes.Equal(former, wanted) {
		err = errors.New("it has not taken its new configuration yet")
	}
	return err
}

// patched returns the text of a configuration before and after a change. The documents beside the main one stay as they are.
func patched(running machineconfig.Provider, change func(*v1alpha1.Config)) (former, wanted []byte, err error) {
	same, err := running.PatchV1Alpha1(func(*v1alpha1.Config) error { return nil })
	if err != nil {
		return nil, nil, err
	}
	changed, err := running.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		change(c)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if former, err = same.Bytes(); err != nil {
		return nil, nil, err
	}
	wanted, err = changed.Bytes()
	return former, wanted, err
}

// RunningConfiguration returns the machine configuration that a node runs, secret. The calls are those of [Ask].
func RunningConfiguration(ctx context.Context, api *client.Client) (machineconfig.Provider, error) {
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
	if err != nil {
		return nil, err
	}
	return active.Provider(), nil
}
