package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// StopGuestAgent stops QEMU's guest agent on a node until its next boot, so that Proxmox VE uses the power button for a
// reboot. A shutdown by the agent is not forced: Talos first waits a minute for its own cordon, which needs a reachable
// Kubernetes API, and does not shut down without one. Proxmox VE, which has the agent's answer, then waits for half an hour
// (talos v1.12.4, v1alpha1_sequencer.go, Shutdown; qemu-server, _do_vm_stop). It does nothing for a node that is off or has
// no agent. The error is one clause about the node.
func (h Health) StopGuestAgent(ctx context.Context, node rolling.Node) error {
	if off, err := h.isOff(ctx, node); err != nil || off {
		return err
	}
	return h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		found, err := api.ServiceInfo(ctx, guestagent.Service)
		if err != nil || len(found) == 0 {
			return err
		}
		_, err = api.ServiceStop(ctx, guestagent.Service)
		return err
	})
}
