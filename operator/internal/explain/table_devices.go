package explain

// commandsForHost is what to do about an IOMMU that is off.
const commandsForHost = "`em-infra preflight` prints the commands for that host, up to the reboot; then " + upAgain

var devices = []row{
	{
		name: "device-in-use", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, reserve_pci_usage",
		pattern: saying(`PCI device '(?P<device>[^']+)' already in use by VMID '(?P<vmid>\d+)'`),
		meaning: "VM {vmid} runs and has {device}",
		do:      "`qm stop {vmid}` on the host and remove its hostpci, or give the node another device; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "mapping-absent", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, parse_hostpci",
		pattern: saying(`PCI device mapping not found for '(?P<mapping>[^']+)'`),
		meaning: "there is no mapping {mapping}, or it has no device on the node's host",
		do:      "`em-infra preflight` shows the devices of each host with their lines for nodes.yaml; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "mapping-without-iommu", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, pve-guest-common Mapping/PCI.pm",
		pattern: saying(`PCI device mapping invalid \(hardware probably changed\): unexpected property 'iommugroup'`),
		meaning: "the host's IOMMU is off, so that the device is in no group",
		do:      commandsForHost,
		safe:    goesOn,
	},
	{
		name: "mapping-stale", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, pve-guest-common Mapping/PCI.pm",
		pattern: saying(`PCI device mapping invalid \(hardware probably changed\): (?P<why>[^"\n]+)`),
		meaning: "the card has moved, or its IOMMU group is another one since a change of hardware, firmware or kernel",
		do:      "`em-infra preflight` shows the line for nodes.yaml as the device is now; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "device-absent", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, parse_hostpci",
		pattern: saying(`no PCI device found for '(?P<device>[^']+)'`),
		meaning: "the host has no device {device}: it is gone, or sits at another address",
		do:      "`em-infra preflight` shows what there is; correct gpus in nodes.yaml, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "iommu-off", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, prepare_pci_device",
		pattern: saying(`cannot prepare PCI pass-through, IOMMU not present`),
		meaning: "the host's IOMMU is off",
		do:      commandsForHost,
		safe:    goesOn,
	},
	{
		name: "no-q35", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, parse_hostpci_devices",
		pattern: saying(`q35 machine model is not enabled`),
		meaning: "the machine was cloned from a template that is not q35, so it has no PCIe to pass a GPU through",
		do:      "let up make the template anew (delete the one that stands at its VMID), then replace the node",
		safe:    "no: the node is made anew, and what is on its disks is lost",
	},
	{
		name: "device-pins", speaker: proxmox, failure: "F23", source: "qemu-server QemuMigrate.pm, prepare",
		pattern: saying(`can't (?:migrate VM which uses local devices|live migrate running VM which uses following mapped devices)`),
		meaning: "a machine with a GPU stays on its host",
		do:      "leave host of that node as it is; to move it, remove it from nodes.yaml and add it on the other host",
		safe:    notTouched,
	},
	{
		name: "nvidia-waits", speaker: talos, failure: "F38", source: "talos#9149, extensions#888; nvidia-persistenced.yaml waits for /sys/bus/pci/drivers/nvidia",
		pattern: saying(`service "?ext-nvidia-persistenced"? to be "?up"?`),
		meaning: "the NVIDIA driver has found no GPU: none is passed through, its module is not loaded, or driver and toolkit are not a pair",
		do:      "see that the node has a GPU (`em-infra preflight`), and talosctl -n ADDRESS get modules for nvidia; extensions only on GPU workers",
		safe:    "no hurry: the node waits, and goes back to the system before after an hour",
	},
	{
		name: "nvidia-needs-proprietary", speaker: talos, failure: "F38", source: "NVIDIA/open-gpu-kernel-modules 595.45.04, src/nvidia/arch/nvalloc/unix/src/osapi.c, rm_is_supported_device",
		pattern: saying(`installed in this system is not supported by open`),
		meaning: "the GPU is older than Turing, and the open kernel modules of NVIDIA's driver do not drive it",
		do:      "write driver: {kernelModuleType: proprietary, branch: lts} for the node in nodes.yaml, " + upAgain + ", which upgrades the node to that image",
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "nvidia-legacy", speaker: talos, failure: "F38", source: "NixOS/nixos-hardware#1880; siderolabs/extensions, nvidia-gpu/vars.yaml",
		pattern: saying(`supported through the NVIDIA (?P<release>\d+)\.xx Legacy drivers`),
		meaning: "the GPU is too old for this release of NVIDIA's driver: R{release} is the last that drives it",
		do:      "where that is R580, write driver: {kernelModuleType: proprietary, branch: lts} for the node in nodes.yaml, which is R580 in Talos 1.12 to 1.14; for an older one Talos has no driver",
		safe:    "yes: the node runs without its GPU",
	},
	{
		name: "nvidia-data-center", speaker: talos, failure: "F38", source: "NVIDIA/open-gpu-kernel-modules 535.247.01, src/nvidia/arch/nvalloc/unix/src/osinit.c",
		pattern: saying(`Open nvidia\.ko is only ready for use on Data Center GPUs`),
		meaning: "the open kernel modules of R535, which is lts up to Talos 1.11, drive no GeForce and no workstation GPU",
		do:      "write driver: {branch: production} for the node in nodes.yaml or raise talos.version to v1.12, " + upAgain + ", which upgrades the node to that image",
		safe:    "yes: the node runs without its GPU",
	},
}
