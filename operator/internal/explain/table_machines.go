package explain

// takenVMID refers to recovery first: after an interrupted creation the provider gets the same error, because it finds the machine
// that it has created itself.
const takenVMID = upAgain + ", which finds out whether a creation of ours was cut off there, and goes on or says what to do; if it is ours and whole, import it (docs/state.md); else give the node another vmid in nodes.yaml, or the system one in systems.yaml"

var machines = []row{
	{
		name: "vmid-taken", speaker: proxmox, failure: "F20", source: "qemu-server API2/Qemu.pm, clone_vm",
		pattern: saying(`unable to create VM (?P<vmid>\d+): config file already exists`),
		meaning: "there is a VM {vmid} already, which this state does not know",
		do:      takenVMID,
		safe:    notTouched,
	},
	{
		name: "vmid-exists", speaker: proxmox, failure: "F20", source: "pve-guest-common, qemu-server API2/Qemu.pm, create_vm",
		pattern: saying(`VM (?P<vmid>\d+) already exists on node '(?P<host>[^']+)'`),
		meaning: "VMID {vmid} is taken, on {host}",
		do:      takenVMID,
		safe:    notTouched,
	},
	{
		name: "container-exists", speaker: proxmox, failure: "F20", source: "pve-cluster Cluster.pm, check_vmid_unused; pve-container API2/LXC.pm, create_vm",
		pattern: saying(`CT (?P<vmid>\d+) already exists on node '(?P<host>[^']+)'`),
		meaning: "VMID {vmid} is taken by a container on {host} that this state does not know",
		do:      upAgain + ", which adopts it if a run of this stack made it; if it says the same again, look at it in Proxmox VE: if it is not needed, shut it down and delete it with `pct destroy {vmid} --purge` on {host}, then " + upAgain + "; if it is, give the system another vmid in systems.yaml",
		safe:    "yes, but it fails in the same way until that is done",
	},
	{
		name: "template-gone", speaker: provider, source: "bpg proxmox/nodes/vms/vms.go, CloneVM; proxmox/api/client.go, ErrResourceDoesNotExist",
		pattern: saying(`error cloning VM: the requested resource does not exist`),
		meaning: "the template is not on its host any more: somebody deleted or moved it",
		do:      upAgain + ", which makes it anew",
		safe:    goesOn,
	},
	{
		name: "template-elsewhere", speaker: proxmox, failure: "F19", source: "qemu-server, bpg#1387",
		pattern: saying(`unable to find configuration file for VM (?P<vmid>\d+) on node '?(?P<host>[\w.-]+)'?`),
		meaning: "the template, VM {vmid}, does not stand on {host}",
		do:      "see that proxmox.template.perHost names a template for each host, or that template.shared is true; " + upAgain + " makes it",
		safe:    notTouched,
	},
	{
		name: "vm-gone", speaker: proxmox, failure: "F19", source: "pve-guest-common AbstractConfig.pm, load_config",
		pattern: saying(`Configuration file 'nodes/(?P<host>[^/]+)/qemu-server/(?P<vmid>\d+)\.conf' does not exist`),
		meaning: "VM {vmid} is not on {host} any more: somebody deleted or moved it",
		do:      "`em-infra preview` shows what the state takes for gone; then " + upAgain,
		safe:    "yes: a template is made anew; look at the preview before a control plane is",
	},
	{
		name: "clone-local-storage", speaker: proxmox, failure: "F19", source: "qemu-server API2/Qemu.pm, clone_vm",
		pattern: saying(`(?i)can't clone (?:to non-shared storage '(?P<storage>[^']+)'|VM to node '(?P<host>[^']+)' \(VM uses local storage\))`),
		meaning: "the template is on another host, and its storage is not shared",
		do:      "give the node's host a template of its own in proxmox.template.perHost, or share one on shared storages (proxmox.template.shared); then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "iso-pins", speaker: proxmox, failure: "F23", source: "qemu-server QemuMigrate.pm, scan_local_volumes",
		pattern: saying(`Problem found while scanning volumes - can't migrate VM`),
		meaning: "a machine does not move to another host with what is in its drives: most often the ISO, on a storage that the hosts do not share",
		do:      "as root on its host: `qm set VMID --ide0 none,media=cdrom` takes the ISO out; then " + upAgain,
		safe:    "yes: the machine is where it was, and runs",
	},
	{
		name: "disk-shrinks", speaker: proxmox, failure: "F21", source: "qemu-server API2/Qemu.pm, resize_vm",
		pattern: saying(`shrinking disks is not supported`),
		meaning: "diskGiB or sizeGiB is less than the disk has: a disk can only grow",
		do:      "set it back in nodes.yaml or cluster.yaml, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "ha-resource", speaker: proxmox, failure: "F24", source: "qemu-server API2/Qemu.pm, destroy_vm",
		pattern: saying(`unable to remove VM (?P<vmid>\d+) - used in HA resources and purge parameter not set`),
		meaning: "VM {vmid} is kept by the HA manager, which starts it again",
		do:      "`ha-manager remove vm:{vmid}` on any host of the cluster, then run the same command again",
		safe:    goesOn,
	},
	{
		name: "protection", speaker: proxmox, source: "pve-guest-common AbstractConfig.pm, check_protection",
		pattern: saying(`can't remove VM (?P<vmid>\d+) - protection mode enabled`),
		meaning: "somebody has protected VM {vmid} in Proxmox VE",
		do:      "if it may go: `qm set {vmid} --protection 0` on its host, then run the same command again",
		safe:    "no, unless you know why it was protected",
	},
	{
		name: "still-running", speaker: proxmox, failure: "F24", source: "qemu-server API2/Qemu.pm, destroy_vm",
		pattern: saying(`VM (?P<vmid>\d+) is running - destroy failed`),
		meaning: "VM {vmid} was started again while it was being deleted",
		do:      "see who starts it (HA, a backup job, a person), `qm stop {vmid}` on its host, then run the same command again",
		safe:    goesOn,
	},
	{
		name: "too-many-cores", speaker: proxmox, source: "qemu-server QemuServer.pm, config_to_command",
		pattern: saying(`MAX (?P<threads>\d+) vcpus allowed per VM on this node`),
		meaning: "a node has more cores than its host has threads, which are {threads}",
		do:      "set cores to {threads} or less, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-kvm", speaker: proxmox, source: "qemu-server QemuServer.pm, config_to_command",
		pattern: saying(`KVM virtualisation configured, but not available`),
		meaning: "the host's processor does not offer virtualisation",
		do:      "turn on VT-x or SVM in the host's firmware; of a host that is a VM itself, set the CPU type to host; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-memory", speaker: proxmox, source: "QEMU, system/physmem.c",
		pattern: saying(`cannot set up guest memory '[^']+': Cannot allocate memory`),
		meaning: "the host has not enough free memory for the machine",
		do:      "stop other VMs, set memoryMiB lower, or limit the ARC of ZFS (zfs_arc_max) on the host, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "status-timeout", speaker: provider, source: "bpg proxmox/nodes/vms/vms.go",
		pattern: saying(`timeout while waiting for VM "?(?P<vmid>\d+)"? to enter the status "(?P<status>\w+)"`),
		meaning: "VM {vmid} did not become {status} in time",
		do:      "look at its task and its console in Proxmox VE, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "agent-timeout", speaker: provider, failure: "F10", source: "bpg proxmox/nodes/vms/vms.go",
		pattern: saying(`timeout while waiting for the QEMU agent on VM "?(?P<vmid>\d+)"? to publish the network interfaces`),
		meaning: "an agent was turned on for VM {vmid} by hand, and does not answer; nothing here needs one",
		do:      "`qm set {vmid} --agent 0` on its host, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "start-failed", speaker: proxmox, source: "qemu-server QemuServer.pm, vm_start",
		pattern: saying(`start failed: QEMU exited with code \d+`),
		meaning: "the machine did not start; the lines above this one in its task say why",
		do:      "look at its last start task in Proxmox VE and paste it into `em-infra explain`, then " + upAgain,
		safe:    goesOn,
	},
}
