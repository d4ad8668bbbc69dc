package explain

// passthrough contains the host's errors about PCI devices that are passed through to a machine.
var passthrough = []row{
	{
		name: "group-not-viable", speaker: proxmox, failure: "F14", source: "QEMU hw/vfio; kubevirt/kubevirt#6718",
		pattern: saying(`group (?P<group>\d+) is not viable`),
		meaning: "the card shares IOMMU group {group} with a device that the host keeps",
		do:      "find /sys/kernel/iommu_groups/{group}/devices -type l on the host names them: give the machine all of one card, or put the card into another slot; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "vfio-bind", speaker: proxmox, failure: "F14", source: "pve-common SysFSTools.pm, pci_dev_group_bind_to_vfio; qemu-server QemuServer/PCI.pm",
		pattern: saying(`(?:Cannot bind (?P<device>[0-9a-f:.]+) to vfio|can't unbind/bind PCI group to VFIO)`),
		meaning: "a driver of the host does not let go of the card or of a neighbour in its IOMMU group",
		do:      "`em-infra preflight` prints the commands for a graphics card; for another device blacklist its driver on the host (lspci -nnk names it; /etc/modprobe.d, update-initramfs -u -k all) and reboot the host; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "vfio-module", speaker: proxmox, failure: "F14", source: "pve-common SysFSTools.pm, pci_dev_bind_to_vfio",
		pattern: saying(`Cannot find vfio-pci module!`),
		meaning: "the host's kernel has not loaded vfio-pci",
		do:      "modprobe vfio-pci on the host, and its name into /etc/modules-load.d/vfio.conf; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "device-twice", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm, choose_hostpci_devices",
		pattern: saying(`device '(?P<device>[^']+)' assigned more than once`),
		meaning: "one node names {device} twice, once perhaps through a mapping",
		do:      "remove one of the two from gpus in nodes.yaml, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "reset-skipped", speaker: proxmox, failure: "F14", source: "qemu-server QemuServer/PCI.pm; isc30/ryzen-gpu-passthrough-proxmox#89",
		pattern: saying(`failed to reset PCI device '(?P<device>[^']+)', but trying to continue`),
		meaning: "{device} cannot be reset by the host: a notice, no error, for most cards",
		do:      "nothing, if the card works in the machine; one that works only after the host's start needs its firmware or vendor-reset",
		safe:    "yes: the start went on",
	},
	{
		name: "reset-hangs", speaker: "the host's kernel", failure: "F14", source: "Linux drivers/pci/pci.c, pci_dev_wait; bryansteiner/gpu-passthrough-tutorial#39",
		pattern: saying(`not ready (?P<wait>\d+)ms after (?P<what>FLR|bus reset|resume|PM D3hot->D0)`),
		meaning: "the card did not come back from its reset ({what})",
		do:      "switch the host off and on, since a reboot does not take the card's power away; then " + upAgain + "; if it comes back, update the card's and the board's firmware",
		safe:    "yes: other machines are not touched, but switching the host off ends them all",
	},
	{
		name: "power-state", speaker: "the kernel", failure: "F14", source: "Linux drivers/pci/pci.c, pci_power_up; bryansteiner/gpu-passthrough-tutorial#39",
		pattern: saying(`Unable to change power state from (?P<from>\w+) to D0, device inaccessible`),
		meaning: "the card sleeps ({from}) and does not wake: it hangs, or has no power",
		do:      "switch the host off and on; add disable_idle_d3=1 to the options of vfio-pci in /etc/modprobe.d if it comes back; then " + upAgain,
		safe:    "yes: other machines are not touched, but switching the host off ends them all",
	},
	{
		name: "console-holds-card", speaker: "the host's kernel", failure: "F14", source: "Linux drivers/pci/pci.c, __pci_request_region; siderolabs/talos#14356",
		pattern: saying(`vfio-pci (?P<device>[0-9a-f:.]+): BAR (?P<bar>\d+): can't reserve`),
		meaning: "the host's own console is drawn on {device}, and keeps its memory",
		do:      "add initcall_blacklist=sysfb_init to the host's kernel command line and reboot it, or make another card the host's first in its firmware; then " + upAgain,
		safe:    "yes, but the host then shows nothing on that card's screen",
	},
}
