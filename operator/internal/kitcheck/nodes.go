package kitcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// againstNodes opens the Talos API of each control plane with the kit's talosconfig: a node proves by its certificate that it has the
// CA of the kit.
func (c *checks) againstNodes(ctx context.Context) error {
	talosconfig, _ := c.File(recoverykit.Talosconfig)
	addresses, err := nodeops.Endpoints(talosconfig)
	if err != nil {
		c.add("talosconfig", preflight.Fail, "the talosconfig cannot be read", newKit)
		return nil //nolint:nilerr // it is a finding
	}
	var accepted, foreign, silent []string
	for _, address := range addresses {
		err := nodeops.Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) error {
			_, err := api.Version(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			accepted = append(accepted, address)
		case errors.Is(err, nodeops.ErrForeign):
			foreign = append(foreign, address)
		default:
			silent = append(silent, fmt.Sprintf("%s (%s)", address, err))
		}
	}
	if len(foreign) > 0 {
		c.add("nodes", preflight.Fail, "the Talos API at "+strings.Join(foreign, ", ")+" does not belong to the CA of the kit", newKit)
	}
	if len(silent) > 0 {
		c.add("nodes", preflight.Warn, "not tried at "+strings.Join(silent, ", "), "")
	}
	if len(accepted) > 0 {
		c.add("nodes", preflight.OK, "the talosconfig of the kit opens the Talos API at "+strings.Join(accepted, ", "), "")
	}
	return nil
}
