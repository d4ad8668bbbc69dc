package machineconfig

import "github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

// NVIDIALabels returns the labels of a node with NVIDIA GPUs: NVIDIA's device plugin runs on nodes with this label if no
// feature discovery labels them (affinity in values.yaml of the Helm chart nvidia-device-plugin).
func NVIDIALabels() map[string]string { return map[string]string{"nvidia.com/gpu.present": "true"} }

// NVIDIATaints returns the taints that keep Pods without a GPU away from a node with GPUs. The device plugin tolerates them
// (same file).
func NVIDIATaints() map[string]string {
	return map[string]string{"nvidia.com/gpu": "present:NoSchedule"}
}

// nvidiaModules are the kernel modules that the container toolkit needs, in the order of their dependencies
// (siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md). Open and proprietary ones have the same names
// (nvidia.conf of both kernel module extensions). Without them the extension's services wait forever (F38).
var nvidiaModules = []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"}

// NVIDIA returns the patch for a node with NVIDIA GPUs, whose image contains the driver and the container toolkit. The toolkit
// loads BPF programs, for which the hardening of their compiler must exempt privileged users (same README).
func NVIDIA() (string, error) {
	modules := make([]*v1alpha1.KernelModuleConfig, len(nvidiaModules))
	for i, name := range nvidiaModules {
		modules[i] = &v1alpha1.KernelModuleConfig{ModuleName: name}
	}
	return encode(&v1alpha1.Config{MachineConfig: &v1alpha1.MachineConfig{
		MachineKernel:  &v1alpha1.KernelConfig{KernelModules: modules},
		MachineSysctls: map[string]string{"net.core.bpf_jit_harden": "1"},
	}})
}
