package components

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nvidia"
)

// runtimeClass is the name of the RuntimeClass and of its containerd handler, which Talos' extension nvidia-container-toolkit
// installs.
const runtimeClass = "nvidia"

// gpuTimeout covers the download of the driver's image by the device plugin, and the plugin's registration.
const gpuTimeout = "15m"

// addGPUSupport lets pods request GPUs, and checks that each machine with GPUs offers them.
func (c *ClusterAddons) addGPUSupport(ctx *pulumi.Context) error {
	gpu := c.args.GPU
	if gpu == nil {
		return nil
	}
	add := c.addDevicePlugin
	if gpu.Operator != nil {
		add = c.addGPUOperator
	}
	plugin, err := add(ctx, *gpu)
	if err != nil {
		return err
	}
	for _, m := range c.args.Cluster.args.Machines {
		if found, _ := gpu.offered(m); found == 0 {
			continue
		}
		if _, err := c.addCommand(ctx, "gpu-"+m.Name, gpu.check(m), pulumi.DependsOn([]pulumi.Resource{plugin})); err != nil {
			return err
		}
	}
	return nil
}

func (c *ClusterAddons) addDevicePlugin(ctx *pulumi.Context, gpu GPUSupport) (pulumi.Resource, error) {
	class, err := c.addObject(ctx, "runtimeclass-"+runtimeClass, kindRuntimeClass, "", runtimeClass, pulumi.Map{"handler": pulumi.String(runtimeClass)})
	if err != nil {
		return nil, err
	}
	return c.addRelease(ctx, "nvidia-device-plugin", systemNamespace, gpu.DevicePlugin, gpu.values(), pulumi.DependsOn([]pulumi.Resource{class}))
}

// addGPUOperator installs the operator in a namespace of its own, whose pods may be privileged. It makes the RuntimeClass itself
// (NVIDIA/gpu-operator v26.3.3, assets/pre-requisites).
func (c *ClusterAddons) addGPUOperator(ctx *pulumi.Context, gpu GPUSupport) (pulumi.Resource, error) {
	return c.addRelease(ctx, "gpu-operator", nodeops.GPUOperatorNamespace, *gpu.Operator, gpu.operatorValues())
}

// operatorValues leave driver and toolkit to Talos' extensions (siderolabs/docs v1.13, nvidia-gpu.mdx), and let what runs on the
// machines tolerate every taint, as the device plugin does.
func (g GPUSupport) operatorValues() map[string]any {
	values := map[string]any{
		"driver": map[string]any{"enabled": false}, "toolkit": map[string]any{"enabled": false},
		"hostPaths":              map[string]any{"driverInstallDir": "/usr/local"},
		"daemonsets":             map[string]any{"tolerations": anyTaint()},
		"node-feature-discovery": map[string]any{"worker": map[string]any{"tolerations": anyTaint()}},
	}
	if g.SharesPerGPU > 1 {
		values["devicePlugin"] = map[string]any{"config": map[string]any{
			"create": true, "name": "em-infra-sharing", "default": "default", "data": map[string]any{"default": g.sharing()},
		}}
	}
	return values
}

// values restrict the plugin to machines with GPUs, since its own affinity does so only with feature discovery, and let it
// tolerate every taint: by default it tolerates only nvidia.com/gpu:NoSchedule (values.yaml, tolerations).
func (g GPUSupport) values() map[string]any {
	labels := map[string]any{}
	for key, value := range machineconfig.NVIDIALabels() {
		labels[key] = value
	}
	values := map[string]any{"runtimeClassName": runtimeClass, "nodeSelector": labels, "tolerations": anyTaint()}
	if g.SharesPerGPU > 1 {
		values["config"] = map[string]any{"map": map[string]any{"default": g.sharing()}}
	}
	return values
}

// anyTaint returns a toleration of every taint.
func anyTaint() []any { return []any{map[string]any{"operator": "Exists"}} }

// sharing returns the plugin's configuration (NVIDIA/k8s-device-plugin, README, "Shared access to GPUs").
func (g GPUSupport) sharing() string {
	return fmt.Sprintf("version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - name: %s\n        replicas: %d\n", nodeops.GPUResource, g.SharesPerGPU)
}

// offered returns how many GPUs the device plugin finds on a machine, and how many it offers there.
func (g GPUSupport) offered(m Machine) (found, offered int) {
	devices := make([]nvidia.Device, len(m.GPUs))
	for i, gpu := range m.GPUs {
		if gpu.Device != nil {
			devices[i] = nvidia.Device{Address: gpu.Device.BDF, ID: gpu.Device.DeviceID}
		}
	}
	return nvidia.Offered(devices, g.SharesPerGPU)
}

// check returns the command that checks one machine.
func (g GPUSupport) check(m Machine) string {
	found, offered := g.offered(m)
	operation := []string{
		"node gpu --name", m.Name, "--address", m.endpoint(),
		"--devices", fmt.Sprint(found), "--offered", fmt.Sprint(offered),
	}
	if g.SmokeTestImage != "" {
		operation = append(operation, "--smoke-test", g.SmokeTestImage)
	}
	return strings.Join(append(operation, "--timeout", gpuTimeout), " ")
}
