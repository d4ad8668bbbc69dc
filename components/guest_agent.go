package components

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// hasAgent reports whether Proxmox VE asks the guest agent of a machine with these inputs to shut it down.
func hasAgent(inputs resource.PropertyMap) bool {
	agent := inputs["agent"]
	if !agent.IsObject() {
		return false
	}
	enabled := agent.ObjectValue()["enabled"]
	return enabled.IsBool() && enabled.BoolValue()
}

// stopAgent stops the guest agent, so that Proxmox VE reboots the machine by its power button. If that fails, it is reported,
// and the reboot is tried nevertheless.
func (r *rollout) stopAgent(ctx context.Context, node rolling.Node) error {
	health, err := r.health()
	if err != nil {
		return err
	}
	if err := health.StopGuestAgent(ctx, node); err != nil {
		return r.ctx.Log.Warn(fmt.Sprintf("the guest agent of %s could not be stopped (%s), so Proxmox VE asks it for the reboot: "+
			"if the machine stays on, `talosctl -n %s shutdown --force` ends its boot", node.Name, err, node.Address), nil)
	}
	return nil
}
