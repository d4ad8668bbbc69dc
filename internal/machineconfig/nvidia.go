package machineconfig

import "github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

// NVIDIALabels returns what a node with NVIDIA GPUs is found by: NVIDIA's device plugin runs on nodes with this label where no
// feature discovery labels them (affinity in values.yaml of the Helm chart nvidia-device-plugin).
func NVIDIALabels() map[string]string { return map[string]string{"nvidia.com/gpu.present": "true"} }

// NVIDIATaints keep Pods that need no GPU away from a node that has some. The device plugin tolerates them (same file).
func NVIDIATaints() map[string]string {
	return map[string]string{"nvidia.com/gpu": "present:NoSchedule"}
}

// nvidiaModules are the kernel modules that the container toolkit needs, in the order in which they depend on each other
// (siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md). Open and proprietary ones have the same names
// (nvidia.conf of both kernel module extensions). Without them the extension's services wait for ever (F38).
var nvidiaModules = []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"}

// NVIDIA returns the patch for a node with NVIDIA GPUs, whose image carries the driver and the container toolkit. The toolkit
// loads BPF programs, for which the hardening of their compiler must spare privileged users (same README).
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
