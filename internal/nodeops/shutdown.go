package nodeops

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Shutdown has a node switch its machine off as it does for the power button, without draining it (talos v1.12.4,
// v1alpha1_controller.go, the ACPI listener). It returns when the order is taken. The error is one clause about the node.
func (h Health) Shutdown(ctx context.Context, node rolling.Node) error {
	return h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		return api.Shutdown(ctx, client.WithShutdownForce(true))
	})
}

// ControlPlanesAreOff reports whether all control planes are known to be switched off. One that is silent and runs, or of
// which nobody knows, is not.
func (h Health) ControlPlanesAreOff(ctx context.Context) bool {
	for _, node := range h.controlPlanes(rolling.Node{}) {
		if off, err := h.isOff(ctx, node); err != nil || !off {
			return false
		}
	}
	return true
}
