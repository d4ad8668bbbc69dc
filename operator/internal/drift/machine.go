package drift

import (
	"reflect"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// Machine is a virtual machine of the state.
type Machine struct {
	// URN is the URN of the resource.
	URN resource.URN
	// VMID is the machine's VMID.
	VMID int
	// Noted are the inputs in the state.
	Noted map[string]any
}

// Machines returns the virtual machines of a state, including templates, in its order.
func Machines(deployment apitype.DeploymentV3) []Machine {
	var found []Machine
	for _, one := range deployment.Resources {
		vmid, isNumber := one.Inputs["vmId"].(float64)
		if one.Type == token.VirtualMachine && !one.Delete && isNumber {
			found = append(found, Machine{URN: one.URN, VMID: int(vmid), Noted: one.Inputs})
		}
	}
	return found
}

// Overlooked returns the properties that differ from the state but that the provider does not read back: whether the machine starts
// with its host and its boot order (bpg v0.69.1, proxmoxtf/resource/vm/vm.go: no read sets on_boot and boot_order), and its pool,
// which the provider looks for in the machine's configuration, where it never is (the same, vmReadCustom; qemu-server, API2/Qemu.pm,
// vm_config). The values are the host's; nil if absent. Disks that were plugged in again are among them.
func (m Machine) Overlooked(guest pve.Guest, config pve.GuestConfig) map[string]any {
	have := map[string]any{"onBoot": config["onboot"] == "1", "bootOrders": bootOrder(config["boot"]), "poolId": nil}
	if guest.Pool != "" {
		have["poolId"] = guest.Pool
	}
	for name, value := range have {
		if reflect.DeepEqual(m.Noted[name], value) || isUnset(m.Noted[name]) && isUnset(value) {
			delete(have, name)
		}
	}
	if disks := m.replugged(config); disks != nil {
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

// PoolMaker returns the Command that created a pool, if the state has one.
func PoolMaker(deployment apitype.DeploymentV3, pool string) (urn resource.URN, found bool) {
	at := slices.IndexFunc(deployment.Resources, func(one apitype.ResourceV3) bool {
		create, _ := one.Inputs["create"].(string)
		return one.Type == token.Command && !one.Delete && strings.HasSuffix(create, " pool ensure "+pool)
	})
	if at < 0 {
		return "", false
	}
	return deployment.Resources[at].URN, true
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
