package nodeops

import (
	"context"
	"crypto/tls"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// isInMaintenance tells a node without a configuration, whose certificate nobody trusts either, from one of another
// cluster. It asks as the provider does (terraform-provider-talos v0.8.0, talosClientOp): only maintenance mode lists
// its disks for a client without a certificate. It has its own time, as that of ctx is over.
func isInMaintenance(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	api, err := client.New(ctx, client.WithEndpoints(address),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // nothing is told to the node, nor believed
	if err != nil {
		return false
	}
	defer api.Close()
	_, err = api.Disks(client.WithNode(ctx, address))
	return err == nil
}

// impatient connects again as often as the API is asked. Without it gRPC waits longer from try to try, up to two minutes
// (google.golang.org/grpc/backoff, DefaultConfig), and a node that is back from its reboot goes unnoticed for as long.
func impatient() grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: pollInterval / 2, Multiplier: 1, MaxDelay: pollInterval},
		MinConnectTimeout: callTimeout,
	})
}
