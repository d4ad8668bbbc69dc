package nodeops

import (
	"context"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Stage has a node take up a machine configuration, secret, with its next boot, if it would reboot for it: Talos keeps it on
// the disk and goes on with the former one until then (talos v1.12.4, v1alpha1_server.go, ApplyConfiguration). One that needs
// no reboot is left for when it is applied. The error is one clause about the node.
func (h Health) Stage(ctx context.Context, node rolling.Node, configuration []byte) (staged bool, err error) {
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		reboots, err := rebootsFor(ctx, api, configuration)
		if err != nil || !reboots {
			return err
		}
		_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
			Data: configuration, Mode: machineapi.ApplyConfigurationRequest_STAGED,
		})
		staged = err == nil
		return err
	})
	return staged, err
}

// rebootsFor asks a node itself whether it would reboot for a configuration.
func rebootsFor(ctx context.Context, api *client.Client, configuration []byte) (bool, error) {
	plan, err := api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
		Data: configuration, Mode: machineapi.ApplyConfigurationRequest_AUTO, DryRun: true,
	})
	if err != nil || len(plan.GetMessages()) == 0 {
		return false, err
	}
	return plan.GetMessages()[0].GetMode() == machineapi.ApplyConfigurationRequest_REBOOT, nil
}
