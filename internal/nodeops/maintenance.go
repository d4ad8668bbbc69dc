package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// isInMaintenance tells a node without a configuration, whose certificate nobody trusts either, from one of another
// cluster.
func isInMaintenance(ctx context.Context, address string) bool {
	return inMaintenance(ctx, address, func(ctx context.Context, api *client.Client) error {
		_, err := api.Disks(ctx)
		return err
	}) == nil
}

// impatient connects again as often as the API is asked. Without it gRPC waits longer from try to try, up to two minutes
// (google.golang.org/grpc/backoff, DefaultConfig), and a node that is back from its reboot goes unnoticed for as long.
func impatient() grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: pollInterval / 2, Multiplier: 1, MaxDelay: pollInterval},
		MinConnectTimeout: callTimeout,
	})
}
