package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// StopGuestAgent stops QEMU's guest agent on a node until its next boot, so that Proxmox VE presses the power button for a
// reboot instead of asking the agent. The agent's way is not forced: Talos waits a minute for its own cordon, which takes a
// Kubernetes API that the node reaches, and stays on without one, while Proxmox VE, which had an answer, waits for half an
// hour (talos v1.12.4, v1alpha1_sequencer.go, Shutdown; qemu-server, _do_vm_stop). A node that is off, or has no agent, is let
// be. The error is one clause about the node.
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
