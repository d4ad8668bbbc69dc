package nodeops

import (
	"context"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
)

// Firmware returns the UUID that a node reads from its firmware, which Proxmox VE calls smbios1 (talos v1.12.4,
// controllers/hardware/system.go). The error is the node's answer, for use inside a sentence.
func (h Health) Firmware(ctx context.Context, address string) (uuid string, err error) {
	err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) error {
		information, err := safe.StateGetByID[*hardware.SystemInformation](ctx, api.COSI, hardware.SystemInformationID)
		if err == nil {
			uuid = information.TypedSpec().UUID
		}
		return err
	})
	return uuid, err
}
