package nodeops

import (
	"context"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Stage makes a node use a machine configuration, secret, from its next boot, if that configuration requires a reboot. Talos writes it to the disk
// and keeps running the former one until then (talos v1.12.4, v1alpha1_server.go, ApplyConfiguration). It stages neither a configuration that
// requires no reboot, nor one with another version of Kubernetes: an upgrade of Kubernetes has its own order and does not come with a boot. The error
// is one clause about the node.
func (h Health) Stage(ctx context.Context, node rolling.Node, configuration []byte) (staged bool, err error) {
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		reboots, err := rebootsFor(ctx, api, configuration)
		if err != nil || !reboots {
			return err
		}
		upgrades, err := upgradesKubernetes(ctx, api, configuration)
		if err != nil || upgrades {
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

// upgradesKubernetes reports whether a configuration has another version of Kubernetes than the one that the node runs.
func upgradesKubernetes(ctx context.Context, api *client.Client, configuration []byte) (bool, error) {
	next, err := configloader.NewFromBytes(configuration)
	if err != nil {
		return false, err
	}
	running, err := RunningConfiguration(ctx, api)
	if err != nil {
		return false, err
	}
	var now, then Observation
	now.readKubernetes(running)
	then.readKubernetes(next)
	return now.Kubelet != then.Kubelet || now.APIServer != then.APIServer, nil
}

// rebootsFor asks the node, by a dry run, whether a configuration would make it reboot.
func rebootsFor(ctx context.Context, api *client.Client, configuration []byte) (bool, error) {
	plan, err := api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
		Data: configuration, Mode: machineapi.ApplyConfigurationRequest_AUTO, DryRun: true,
	})
	if err != nil || len(plan.GetMessages()) == 0 {
		return false, err
	}
	return plan.GetMessages()[0].GetMode() == machineapi.ApplyConfigurationRequest_REBOOT, nil
}
