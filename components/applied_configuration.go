package components

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
)

// appliedConfiguration is what the provider will apply, by the inputs of a ConfigurationApply: the configuration with its
// patches merged. It is nil for the inputs of a machine, and for what cannot be merged, which the provider will say.
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

// mergedConfiguration is a configuration with its patches merged, as the provider does it; nil for what cannot be merged.
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

// PlannedConfiguration is the machine configuration that the node is given, in whatever phase, without what the machine's own
// Patches change, which may hold credentials that nobody could take out again. It is secret, made when it is asked for, and
// empty where ConfigPatches are none that Talos reads.
func (n *TalosNode) PlannedConfiguration() pulumi.StringOutput {
	merged := pulumi.All(n.planned, n.patches).ApplyT(func(parts []any) string {
		configuration, _ := parts[0].(string)
		patches, _ := parts[1].([]string)
		return string(mergedConfiguration(configuration, patches))
	})
	return pulumi.ToSecret(merged).(pulumi.StringOutput)
}

// plain is a value without the wrapping of secrets and outputs.
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
