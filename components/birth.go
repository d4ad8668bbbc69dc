package components

import (
	"regexp"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// The engine does not replace a machine that was deleted outside of it: a refresh removes it from the state, and the next run creates it as a new
// resource, while its configuration stays unchanged in the state (pulumi v3.254.0, resource/deploy, deployment_executor.go, rebuildBaseState). No
// output of the provider distinguishes a new clone from its predecessor. So each machine gets a birth identifier when it is created, and its
// configuration carries the identifier of the machine that it was applied to. If the two differ, it is applied again.

// uuidForm is the form that Proxmox VE accepts (qemu-server, QemuServer.pm, $smbios1_fmt).
var uuidForm = regexp.MustCompile(`^[a-fA-F0-9]{8}(-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}$`)

// smbios gives a new machine its birth identifier, as the UUID that its firmware shows.
func smbios(mark string) vm.VirtualMachineSmbiosPtrInput {
	if mark == "" {
		return nil
	}
	return vm.VirtualMachineSmbiosArgs{Uuid: pulumi.String(mark)}
}

// birthOf returns the birth identifier of a machine; "" if it has none. It is read from the raw outputs: in a preview the SDK
// treats a missing output as unknown, so every machine without an identifier would be shown as changed (sdk/v3 v3.254.0,
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

// madeFor returns a machine configuration with the birth identifier of its machine.
func madeFor(configuration pulumi.StringInput, mark pulumi.StringOutput) pulumi.StringOutput {
	return pulumi.All(configuration, mark).ApplyT(func(values []any) string {
		return machineconfig.WithBirth(values[0].(string), values[1].(string))
	}).(pulumi.StringOutput)
}

// birthIn returns the last birth identifier in the inputs of a ConfigurationApply; "" if there is none. isKnown is false if a
// preview does not know the configuration yet.
func birthIn(inputs resource.PropertyMap) (mark string, isKnown bool) {
	configuration := plain(inputs["machineConfigurationInput"])
	if !configuration.IsString() {
		return "", false
	}
	return machineconfig.BirthIn(configuration.StringValue()), true
}
