package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// isInMaintenance reports whether a node has no configuration. It distinguishes such a node from a node of another cluster:
// the certificates of both are signed by an unknown authority.
func isInMaintenance(ctx context.Context, address string) bool {
	return inMaintenance(ctx, address, func(ctx context.Context, api *client.Client) error {
		_, err := api.Disks(ctx)
		return err
	}) == nil
}

// impatient makes gRPC reconnect at the poll interval. By default gRPC increases the delay between attempts to two minutes
// (google.golang.org/grpc/backoff, DefaultConfig), and would notice a rebooted node that much later.
func impatient() grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: pollInterval / 2, Multiplier: 1, MaxDelay: pollInterval},
		MinConnectTimeout: callTimeout,
	})
}
