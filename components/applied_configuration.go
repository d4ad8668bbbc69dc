package components

import (
	"bytes"
	"strings"

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

// changeNothingAtOnce reports whether two machine configurations differ only in images that a running node need not apply: that of Talos'
// installer, which it never reads, since its upgrade is ordered with the image; and those of Kubernetes' components in the wanted version, which
// the cluster's upgrade has already changed.
func changeNothingAtOnce(before, after []byte, kubernetes string) bool {
	if len(before) == 0 || len(after) == 0 || bytes.Equal(before, after) {
		return false
	}
	one := withoutImages(before, func(string) bool { return true })
	two := withoutImages(after, func(tag string) bool { return tag == kubernetes })
	return len(one) > 0 && bytes.Equal(one, two)
}

// withoutImages returns a configuration without the image of the installer, and without those tags of Kubernetes' images that drops selects; nil if
// it cannot be read.
func withoutImages(text []byte, drops func(tag string) bool) []byte {
	parsed, err := configloader.NewFromBytes(text)
	if err != nil {
		return nil
	}
	without, err := parsed.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		if c.MachineConfig != nil && c.MachineConfig.MachineInstall != nil {
			c.MachineConfig.MachineInstall.InstallImage = ""
		}
		for _, image := range kubernetesImages(c) {
			if name, tag, tagged := strings.Cut(*image, ":v"); tagged && drops("v"+tag) {
				*image = name
			}
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

// kubernetesImages returns the images of Kubernetes' components that a configuration names.
func kubernetesImages(c *v1alpha1.Config) []*string {
	var images []*string
	if machine := c.MachineConfig; machine != nil && machine.MachineKubelet != nil {
		images = append(images, &machine.MachineKubelet.KubeletImage)
	}
	if cluster := c.ClusterConfig; cluster != nil {
		if cluster.APIServerConfig != nil {
			images = append(images, &cluster.APIServerConfig.ContainerImage)
		}
		if cluster.ControllerManagerConfig != nil {
			images = append(images, &cluster.ControllerManagerConfig.ContainerImage)
		}
		if cluster.SchedulerConfig != nil {
			images = append(images, &cluster.SchedulerConfig.ContainerImage)
		}
		if cluster.ProxyConfig != nil {
			images = append(images, &cluster.ProxyConfig.ContainerImage)
		}
	}
	return images
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
