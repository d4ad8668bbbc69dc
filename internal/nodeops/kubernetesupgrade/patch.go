package kubernetesupgrade

import (
	"context"

	"github.com/cosi-project/runtime/pkg/safe"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	machineconfig "github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// patch changes the machine configuration that a node runs, without a reboot. The rest of the configuration stays as it is: what
// else the inventory wants is applied after the upgrade.
func (u Upgrade) patch(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) error {
	return u.call(ctx, node, func(ctx context.Context, api *client.Client) error {
		running, err := runningConfiguration(ctx, api)
		if err != nil {
			return err
		}
		changed, err := running.PatchV1Alpha1(func(c *v1alpha1.Config) error {
			change(c)
			return nil
		})
		if err != nil {
			return err
		}
		text, err := changed.Bytes()
		if err != nil {
			return err
		}
		_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
			Data: text, Mode: machineapi.ApplyConfigurationRequest_NO_REBOOT,
		})
		return err
	})
}

func runningConfiguration(ctx context.Context, api *client.Client) (machineconfig.Provider, error) {
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
	if err != nil {
		return nil, err
	}
	return active.Provider(), nil
}
