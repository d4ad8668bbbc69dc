package components

import (
	"regexp"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// The engine does not replace a machine that somebody deleted: a refresh removes it from the state, and the next run creates it
// as a new resource, while its configuration stays unchanged in the state (pulumi v3.254.0, resource/deploy,
// deployment_executor.go, rebuildBaseState). Nothing else that the provider says of a clone differs from one machine to the
// next. So each machine takes a mark with it when it is made, and its configuration carries the mark of the machine that it was
// applied to: where the two differ, it is applied again.

// uuidForm is what Proxmox VE takes (qemu-server, QemuServer.pm, $smbios1_fmt).
var uuidForm = regexp.MustCompile(`^[a-fA-F0-9]{8}(-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}$`)

// smbios gives a new machine its mark, as the UUID that its firmware shows.
func smbios(mark string) vm.VirtualMachineSmbiosPtrInput {
	if mark == "" {
		return nil
	}
	return vm.VirtualMachineSmbiosArgs{Uuid: pulumi.String(mark)}
}

// birthOf is the birth identifier of a machine; "" for a machine without one. It is read from the raw outputs: in a preview the
// SDK treats a missing output as unknown, so every machine without an identifier would be shown as changed (sdk/v3 v3.254.0,
// context.go, resolve).
func birthOf(machine *vm.VirtualMachine) pulumi.StringOutput {
	return pulumi.InternalGetRawOutputs(&machine.ResourceState).ApplyT(func(outputs any) string {
		properties, _ := outputs.(resource.PropertyMap)
		smbios := plain(properties["smbios"])
		if !smbios.IsObject() {
			return ""
		}
		mark := plain(smbios.ObjectValue()["uuid"])
		if !mark.IsString() {
			return ""
		}
		return mark.StringValue()
	}).(pulumi.StringOutput)
}

// madeFor is a machine configuration with the mark of its machine.
func madeFor(configuration pulumi.StringInput, mark pulumi.StringOutput) pulumi.StringOutput {
	return pulumi.All(configuration, mark).ApplyT(func(values []any) string {
		return machineconfig.WithBirth(values[0].(string), values[1].(string))
	}).(pulumi.StringOutput)
}

// birthIn is the mark in the inputs of a ConfigurationApply, the last one where there are several; "" where there is none. A
// configuration that a preview does not know yet has none that is known.
func birthIn(inputs resource.PropertyMap) (mark string, isKnown bool) {
	configuration := plain(inputs["machineConfigurationInput"])
	if !configuration.IsString() {
		return "", false
	}
	return machineconfig.BirthIn(configuration.StringValue()), true
}
