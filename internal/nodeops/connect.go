package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
)

// connect makes a client of one node's own API, whatever endpoints the talosconfig names; nothing is dialled yet. The
// error is [ErrTalosconfig].
func connect(ctx context.Context, talosconfig []byte, address string) (*client.Client, error) {
	config, err := clientconfig.FromBytes(talosconfig)
	if err != nil {
		return nil, ErrTalosconfig
	}
	api, err := client.New(ctx, client.WithConfig(config), client.WithEndpoints(address), client.WithGRPCDialOptions(impatient()))
	if err != nil {
		return nil, ErrTalosconfig
	}
	return api, nil
}
