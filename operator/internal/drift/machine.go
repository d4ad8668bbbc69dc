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
	// URN of the resource.
	URN resource.URN
	// VMID is its number.
	VMID int
	// Noted are its inputs in the state.
	Noted map[string]any
}

// Machines are the virtual machines of a state, templates too, in its order.
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

// Overlooked are the properties of a machine that differ from the state in what the provider does not read back: whether it
// starts with its host, its boot order (bpg v0.69.1, proxmoxtf/resource/vm/vm.go: on_boot and boot_order are set by no read),
// and its pool, which is looked for in the machine's configuration, where it never stands (the same, vmReadCustom; qemu-server,
// API2/Qemu.pm, vm_config). The values are those of the host, nil for one that is absent.
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
	return have
}

// bootOrder are the devices of the setting boot, which has them as order=scsi0;ide0 (qemu-server, QemuServer.pm, $boot_fmt).
func bootOrder(setting string) []any {
	devices := []any{}
	_, order, _ := strings.Cut(setting, "order=")
	for _, device := range strings.FieldsFunc(order, func(r rune) bool { return r == ';' || r == ',' }) {
		devices = append(devices, device)
	}
	return devices
}

// isUnset reports whether a value means as much as none.
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

// PoolMaker is the Command that has made a pool, in a state that has one.
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

// Undone are the properties of a Command whose work is no longer there: with another text in the state the engine updates
// it, and a Command without one for updates does what it did at first (pulumi-command v1.2.1, provider/pkg/provider/local).
func Undone() map[string]any { return map[string]any{"create": nil} }

// NoteMachine writes what the host really has into the state of a machine, or of a pool's Command, as a refresh would if the
// provider read it.
func NoteMachine(deployment *apitype.DeploymentV3, of resource.URN, have map[string]any) {
	at := slices.IndexFunc(deployment.Resources, func(one apitype.ResourceV3) bool { return one.URN == of && !one.Delete })
	if at < 0 {
		return // it has left the state meanwhile
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
