package explain

// gpuNodes contains the errors of NVIDIA's driver, container tools and device plugin on a node with a GPU.
var gpuNodes = []row{
	{
		name: "nvml-absent", speaker: "the device plugin", failure: "F38", source: "NVIDIA/go-nvml; NVIDIA/k8s-device-plugin#478, NVIDIA/k8s-device-plugin#1371",
		pattern: saying(`could not load NVML library`),
		meaning: "the pod does not get the driver's libraries: it does not run with the runtime nvidia, or runs on a node without a GPU",
		do:      "see that its pod has runtimeClassName nvidia, as that of addons.gpu has, and runs on a gpu-worker only; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "device-strategy", speaker: "the device plugin", failure: "F38", source: "NVIDIA/k8s-device-plugin internal/rm; NVIDIA/k8s-device-plugin#1220, NVIDIA/k8s-device-plugin#1574",
		pattern: saying(`Incompatible (?:strategy|platform) detected`),
		meaning: "the device plugin finds no driver in its container: the runtime nvidia is not used, or the modules are not loaded",
		do:      "talosctl -n ADDRESS read /proc/modules shows whether nvidia is loaded; if it is, give the pod runtimeClassName nvidia, else see kernel messages with talosctl -n ADDRESS dmesg",
		safe:    goesOn,
	},
	{
		name: "no-gpu-to-offer", speaker: "the device plugin", failure: "F38", source: "NVIDIA/k8s-device-plugin cmd/nvidia-device-plugin/main.go",
		pattern: saying(`No devices found\. Waiting indefinitely`),
		meaning: "the node has no GPU that its driver drives",
		do:      "let it run on gpu-workers only; on one, talosctl -n ADDRESS dmesg says what NVRM thinks of the card",
		safe:    "yes: the pod waits",
	},
	{
		name: "driver-not-loaded", speaker: "NVIDIA's container tools", failure: "F38", source: "NVIDIA/libnvidia-container; NVIDIA/nvidia-container-toolkit#1269",
		pattern: saying(`nvml error: driver not loaded`),
		meaning: "a pod with the runtime nvidia was started while the kernel module is not loaded",
		do:      "talosctl -n ADDRESS dmesg says why it is not (NVRM, or the module's key); `em-infra preflight` shows whether driver and card fit",
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "driver-mismatch", speaker: "NVIDIA's container tools", failure: "F38", source: "NVML, NVML_ERROR_LIB_RM_VERSION_MISMATCH; NVIDIA/k8s-device-plugin#1431, NVIDIA/gpu-operator#898",
		pattern: saying(`(?i)driver/library version mismatch`),
		meaning: "kernel module and libraries are of two releases: the toolkit's extension and the module's are not a pair",
		do:      "let em-infra choose both with driver in nodes.yaml and leave them out of talos.schematic.extensions, " + upAgain + ", which upgrades the node to that image",
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "gpu-versions", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, src/nvidia/arch/nvalloc/unix/src/osapi.c",
		pattern: saying(`NVRM: API mismatch: the client '(?P<client>[^']+)'`),
		meaning: "{client} has libraries of another release than the kernel module: an image that brings a driver of its own, or extensions that are not a pair",
		do:      "use an image without a driver inside; the node's pair comes from driver in nodes.yaml, and `em-infra up` upgrades the node to it",
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "gpu-init-failed", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, src/nvidia/arch/nvalloc/unix/src/osinit.c; NVIDIA/cuda-samples#104",
		pattern: saying(`RmInitAdapter failed! \((?P<code>[^)]+)\)`),
		meaning: "the driver knows the card and cannot start it ({code}): it was not reset after its last use, hangs, or has no power",
		do:      "stop the VM and switch its host off and on; if it comes back, try another driver branch for the node, and the card's firmware and power connectors",
		safe:    "yes: the node runs without its GPU, but switching the host off ends every machine on it",
	},
	{
		name: "gpu-lost", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, osinit.c and osapi.c; NVIDIA/open-gpu-kernel-modules#507, #888",
		pattern: saying(`fallen off the bus`),
		meaning: "the card does not answer any more (Xid 79): heat, power, its seat in the slot, or the board's PCIe",
		do:      "switch the host off and on; then see temperature and power connectors, and turn ASPM off in the host's firmware",
		safe:    "yes: the node runs without its GPU, but switching the host off ends every machine on it",
	},
	{
		name: "gpu-no-memory-window", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv-pci.c; NVIDIA/gpu-operator#492",
		pattern: saying(`This PCI I/O region assigned to your NVIDIA device is invalid`),
		meaning: "the machine's firmware had no room for the card's memory: Resizable BAR makes it too large for its window",
		do:      "turn Above 4G Decoding on in the host's firmware, or Resizable BAR off, reboot it, then " + upAgain,
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "gpu-other-driver", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv.c",
		pattern: saying(`NVRM: The NVIDIA probe routine was not called for`),
		meaning: "another driver, nouveau or vfio-pci, has the card inside the node",
		do:      "remove vfio and nouveau from machine.kernel.modules and kernelArgs of talos.patches and talos.schematic, then " + upAgain,
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "gpu-none", speaker: "the NVIDIA driver", failure: "F38", source: "NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv.c",
		pattern: saying(`NVRM: No NVIDIA (?:GPU found|devices probed)`),
		meaning: "the node has NVIDIA's driver in its image and no card: none is passed through to it",
		do:      "name the card in gpus of the node (`em-infra preflight` shows the line), then " + upAgain,
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "cuda-too-new", speaker: "CUDA", source: "CUDA Runtime API, cudaErrorInsufficientDriver",
		pattern: saying(`CUDA driver version is insufficient for CUDA runtime version`),
		meaning: "the container's CUDA is newer than the node's driver can serve",
		do:      "use an image with an older CUDA, or driver: {branch: production} for the node in nodes.yaml, " + upAgain + ", which upgrades the node to that image",
		safe:    goesOn,
	},
}
