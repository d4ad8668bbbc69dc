package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Shutdown shuts a node down as the power button does, without draining it (talos v1.12.4, v1alpha1_controller.go, the ACPI
// listener). It returns when the node has accepted the order. The error is one clause about the node.
func (h Health) Shutdown(ctx context.Context, node rolling.Node) error {
	return h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		return api.Shutdown(ctx, client.WithShutdownForce(true))
	})
}

// ControlPlanesAreOff reports whether all control planes are known to be switched off. A control plane whose state is unknown
// does not count as off.
func (h Health) ControlPlanesAreOff(ctx context.Context) bool {
	for _, node := range h.controlPlanes(rolling.Node{}) {
		if off, err := h.isOff(ctx, node); err != nil || !off {
			return false
		}
	}
	return true
}
