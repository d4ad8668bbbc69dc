package components

import (
	"bytes"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// appliedConfiguration returns the configuration that the provider will apply for the inputs of a ConfigurationApply: the base
// with its patches merged. It is nil for the inputs of a machine, and for patches that cannot be merged, which the provider
// reports.
func appliedConfiguration(inputs resource.PropertyMap) []byte {
	configuration := plain(inputs["machineConfigurationInput"])
	if !configuration.IsString() {
		return nil
	}
	var texts []string
	if list := plain(inputs["configPatches"]); list.IsArray() {
		for _, patch := range list.ArrayValue() {
			if patch = plain(patch); patch.IsString() {
				texts = append(texts, patch.StringValue())
			}
		}
	}
	return mergedConfiguration(configuration.StringValue(), texts)
}

// mergedConfiguration merges patches into a configuration as the provider does; nil if they cannot be merged.
func mergedConfiguration(configuration string, texts []string) []byte {
	patches, err := configpatcher.LoadPatches(texts)
	if err != nil {
		return nil
	}
	merged, err := configpatcher.Apply(configpatcher.WithBytes([]byte(configuration)), patches)
	if err != nil {
		return nil
	}
	text, err := merged.Bytes()
	if err != nil {
		return nil
	}
	return text
}

// differOnlyInInstaller reports whether two machine configurations differ in nothing but the image that Talos is installed from,
// which a node that runs never reads: its upgrade is ordered with the image.
func differOnlyInInstaller(before, after []byte) bool {
	if len(before) == 0 || len(after) == 0 || bytes.Equal(before, after) {
		return false
	}
	one, two := withoutInstaller(before), withoutInstaller(after)
	return len(one) > 0 && bytes.Equal(one, two)
}

// withoutInstaller returns a configuration without the image; nil if it cannot be read.
func withoutInstaller(text []byte) []byte {
	parsed, err := configloader.NewFromBytes(text)
	if err != nil {
		return nil
	}
	without, err := parsed.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		if c.MachineConfig != nil && c.MachineConfig.MachineInstall != nil {
			c.MachineConfig.MachineInstall.InstallImage = ""
		}
		return nil
	})
	if err != nil {
		return nil
	}
	text, err = without.Bytes()
	if err != nil {
		return nil
	}
	return text
}

// PlannedConfiguration returns the machine configuration that the node will get, in every phase. It leaves out the machine's
// own Patches, whose credentials could not be recognised and removed. It is secret, computed on request, and empty if Talos
// cannot read ConfigPatches.
func (n *TalosNode) PlannedConfiguration() pulumi.StringOutput {
	merged := pulumi.All(n.planned, n.patches).ApplyT(func(parts []any) string {
		configuration, _ := parts[0].(string)
		patches, _ := parts[1].([]string)
		return string(mergedConfiguration(configuration, patches))
	})
	return pulumi.ToSecret(merged).(pulumi.StringOutput)
}

// plain unwraps secrets and outputs.
func plain(value resource.PropertyValue) resource.PropertyValue {
	for {
		switch {
		case value.IsSecret():
			value = value.SecretValue().Element
		case value.IsOutput():
			value = value.OutputValue().Element
		default:
			return value
		}
	}
}
