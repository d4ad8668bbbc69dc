package drift

import (
	"reflect"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
)

// Overlooked returns the properties of a machine that differ from the state but that the provider does not read back: whether it
// starts with its host and its boot order (bpg v0.69.1, proxmoxtf/resource/vm/vm.go: no read sets on_boot and boot_order), and its
// pool, which the provider looks for in the machine's configuration, where it never is (the same, vmReadCustom; qemu-server, API2/Qemu.pm,
// vm_config). The values are the host's; nil if absent. Disks that were plugged in again are among them.
func Overlooked(machine state.Machine, guest pve.Guest, config pve.GuestConfig) map[string]any {
	have := map[string]any{"onBoot": config["onboot"] == "1", "bootOrders": bootOrder(config["boot"]), "poolId": nil}
	if guest.Pool != "" {
		have["poolId"] = guest.Pool
	}
	for name, value := range have {
		if reflect.DeepEqual(machine.Inputs[name], value) || isUnset(machine.Inputs[name]) && isUnset(value) {
			delete(have, name)
		}
	}
	if disks := replugged(machine, config); disks != nil {
		have["disks"] = disks
	}
	return have
}

// bootOrder returns the devices in the setting boot, as in order=scsi0;ide0 (qemu-server, QemuServer.pm, $boot_fmt).
func bootOrder(setting string) []any {
	devices := []any{}
	_, order, _ := strings.Cut(setting, "order=")
	for _, device := range strings.FieldsFunc(order, func(r rune) bool { return r == ';' || r == ',' }) {
		devices = append(devices, device)
	}
	return devices
}

// isUnset reports whether a value is equivalent to none.
func isUnset(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// Undone returns the properties of a Command whose result no longer exists. The changed text in the state makes the engine update
// the Command, and a Command without a text for updates runs its first one again (pulumi-command v1.2.1,
// provider/pkg/provider/local).
func Undone() map[string]any { return map[string]any{"create": nil} }

// NoteMachine writes the host's values into the state of a machine, or of a pool's Command, as a refresh would if the provider read
// them.
func NoteMachine(deployment *apitype.DeploymentV3, of resource.URN, have map[string]any) {
	at := slices.IndexFunc(deployment.Resources, func(one apitype.ResourceV3) bool { return one.URN == of && !one.Delete })
	if at < 0 {
		return // it is no longer in the state
	}
	for name, value := range have {
		for _, properties := range []map[string]any{deployment.Resources[at].Inputs, deployment.Resources[at].Outputs} {
			if value == nil {
				delete(properties, name)
			} else {
				properties[name] = value
			}
		}
		delete(deployment.Resources[at].Outputs, rawStateDelta)
	}
}
