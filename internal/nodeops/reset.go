package nodeops

import (
	"context"
	"fmt"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/poll"
)

// Endpoints returns the endpoints of a talosconfig. The error is [ErrTalosconfig].
func Endpoints(talosconfig []byte) ([]string, error) {
	config, err := clientconfig.FromBytes(talosconfig)
	if err != nil || config.Contexts[config.Context] == nil || len(config.Contexts[config.Context].Endpoints) == 0 {
		return nil, ErrTalosconfig
	}
	return config.Contexts[config.Context].Endpoints, nil
}

// Kubeconfig returns an administrator's kubeconfig from a control plane. Secret.
func Kubeconfig(ctx context.Context, talosconfig []byte, address string) (kubeconfig []byte, err error) {
	err = Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) error {
		kubeconfig, err = api.Kubeconfig(ctx)
		return err
	})
	return kubeconfig, err
}

// Reset wipes the partitions STATE and EPHEMERAL of a node and turns it off. It returns when the node's API is gone. The
// error contains the node's answer; it wraps the context's error if the node still answers when ctx ends.
func Reset(ctx context.Context, talosconfig []byte, address string) error {
	err := Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) error {
		return api.ResetGeneric(ctx, &machineapi.ResetRequest{SystemPartitionsToWipe: []*machineapi.ResetPartitionSpec{
			{Label: constants.StatePartitionLabel, Wipe: true},
			{Label: constants.EphemeralPartitionLabel, Wipe: true},
		}})
	})
	if err != nil {
		return err
	}
	if ended := poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		return !IsAlive(ctx, talosconfig, address), nil
	}); ended != nil {
		return fmt.Errorf("its Talos API still answers: %w", ended)
	}
	return nil
}

// IsAlive reports whether a node answers under the cluster's PKI.
func IsAlive(ctx context.Context, talosconfig []byte, address string) bool {
	return Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) error {
		_, err := api.Version(ctx)
		return err
	}) == nil
}
