package kubernetesupgrade

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// patch changes the machine configuration that a node runs, without a reboot. The rest of the configuration stays as it is: what
// else the inventory wants is applied after the upgrade.
func (u Upgrade) patch(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) error {
	return u.call(ctx, node, func(ctx context.Context, api *client.Client) error {
		_, err := nodeops.Patch(ctx, api, change)
		return err
	})
}
