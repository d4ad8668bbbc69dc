package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The GPU sharing of NVIDIA/k8s-device-plugin v0.19.3: the chart mounts a ConfigMap of configurations under this name, and
// cmd/config-manager chooses one of them for the plugin.
const (
	pluginConfigurations = "available-configs"
	// pluginConfigurationLabel is the node label with the name of its configuration.
	pluginConfigurationLabel = "nvidia.com/device-plugin.config"
)

// sharing is the sharing section of a configuration (api/config/v1/sharing.go, replicas.go).
type sharing struct {
	Sharing struct {
		TimeSlicing replicated `yaml:"timeSlicing"`
		MPS         replicated `yaml:"mps"`
	} `yaml:"sharing"`
}

type replicated struct {
	RenameByDefault bool `yaml:"renameByDefault"`
	Resources       []struct {
		Name     string `yaml:"name"`
		Replicas int64  `yaml:"replicas"`
	} `yaml:"resources"`
}

// shares returns how many units of gpuResource one GPU provides: 1 without sharing, 0 if the shares have another name.
func (s sharing) shares() int64 {
	for _, kind := range []replicated{s.Sharing.TimeSlicing, s.Sharing.MPS} {
		for _, r := range kind.Resources {
			if r.Name != string(gpuResource) {
				continue
			}
			if kind.RenameByDefault {
				return 0
			}
			return r.Replicas
		}
	}
	return 1
}

// sharesOf returns how many units of gpuResource one GPU provides with this device plugin's pod.
func (k *kubelet) sharesOf(ctx context.Context, plugin corev1.Pod) (int64, error) {
	at := slices.IndexFunc(plugin.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == pluginConfigurations && v.ConfigMap != nil })
	if at < 0 {
		return 1, nil
	}
	configurations, err := k.client.CoreV1().ConfigMaps(plugin.Namespace).Get(ctx, plugin.Spec.Volumes[at].ConfigMap.Name, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("look at the configurations of a device plugin: %w", err)
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, plugin.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("look at the label of a device plugin's node: %w", err)
	}
	name, found := chosenConfiguration(configurations.Data, node.Labels[pluginConfigurationLabel], plugin)
	if !found {
		return 0, nil // config-manager fails, and the plugin does not start
	}
	var configuration sharing
	if err := yaml.Unmarshal([]byte(configurations.Data[name]), &configuration); err != nil {
		return 0, nil //nolint:nilerr // the plugin does not start with it
	}
	return configuration.shares(), nil
}

// chosenConfiguration returns the key of the configuration that config-manager chooses (updateConfigName): by the node's
// label, then the default, then the fallback strategies. An empty key means none.
func chosenConfiguration(configurations map[string]string, label string, plugin corev1.Pod) (name string, found bool) {
	variables := map[string]string{}
	for _, container := range slices.Concat(plugin.Spec.InitContainers, plugin.Spec.Containers) {
		for _, variable := range container.Env {
			variables[variable.Name] = variable.Value
		}
	}
	for _, named := range []string{label, variables["DEFAULT_CONFIG"]} {
		if named != "" {
			_, found = configurations[named]
			return named, found
		}
	}
	for fallback := range strings.SplitSeq(variables["FALLBACK_STRATEGIES"], ",") {
		_, hasDefault := configurations["default"]
		switch {
		case fallback == "named" && hasDefault:
			return "default", true
		case fallback == "single" && len(configurations) == 1:
			return slices.Collect(maps.Keys(configurations))[0], true
		case fallback == "empty":
			return "", true
		}
	}
	return "", false
}
