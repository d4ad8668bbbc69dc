package explain

var locks = []row{
	{
		name: "config-lock", speaker: proxmox, failure: "F18", source: "qemu-server, pve-guest-common AbstractConfig.pm, lock_config",
		pattern: saying(`can't lock file '/var/lock/qemu-server/lock-(?P<vmid>\d+)\.conf' - got timeout`),
		meaning: "another task holds VM {vmid}, or held it when the host went down",
		do:      "`qm unlock {vmid}` on its host if no task is running there (`pvesh get /nodes/HOST/tasks --source active`), then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "storage-lock", speaker: proxmox, failure: "F18", source: "pve-storage Storage/Plugin.pm, cluster_lock_storage",
		pattern: saying(`can't lock file '/var/lock/pve-manager/pve-storage-(?P<storage>[^']+)' - got timeout`),
		meaning: "many disks were made on storage {storage} at once, or one takes long; each waits 10 s for its turn",
		do:      upAgain,
		safe:    goesOn,
	},
	{
		name: "shared-storage-lock", speaker: proxmox, failure: "F18", source: "pve-cluster Cluster.pm, cfs_lock",
		pattern: saying(`cfs-lock 'storage-(?P<storage>[^']+)' error: got lock request timeout`),
		meaning: "another host of the cluster works on storage {storage}, or died while it did",
		do:      "wait two minutes, in which a forgotten lock ends by itself, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "vm-locked", speaker: proxmox, failure: "F18", source: "pve-guest-common AbstractConfig.pm, check_lock",
		pattern: saying(`VM is locked \((?P<lock>[^)]+)\)`),
		meaning: "a task ({lock}) works on the VM, or was cut off before it could take its lock away",
		do:      "look for the task (`pvesh get /nodes/HOST/tasks --source active`); if there is none, `qm unlock VMID` on its host, then " + upAgain,
		safe:    "yes, once no task works on it: a VM that is half made is found and made again",
	},
	{
		name: "unlock-timeout", speaker: provider, failure: "F18", source: "bpg proxmox/nodes/vms/vms.go",
		pattern: saying(`timeout while waiting for VM "?(?P<vmid>\d+)"? configuration to become unlocked`),
		meaning: "a clone or a backup of VM {vmid} did not end in time",
		do:      "see its task in Proxmox VE; when none runs, `qm unlock {vmid}` on its host, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "stop-timeout", speaker: proxmox, failure: "F24", source: "qemu-server QemuServer.pm, _do_vm_stop",
		pattern: saying(`VM quit/powerdown failed - got timeout`),
		meaning: "the machine did not react to its power button: nothing in it listens, or it hangs",
		do:      "`qm stop VMID` on its host, then " + upAgain,
		safe:    "yes for a worker; for a control plane see first that the others are well (`em-infra status`)",
	},
	{
		name: "no-worker", speaker: proxmox, source: "pve-common RESTEnvironment.pm, fork_worker",
		pattern: saying(`got no worker upid - start worker failed`),
		meaning: "the host could not start a task: it is short of memory or processes, or its root file system is full",
		do:      "look at free -h and df -h / on the host, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "task-stopped", speaker: proxmox, source: "pve-common RESTEnvironment.pm, fork_worker",
		pattern: saying(`task "UPID:(?P<host>[^:]+):[^"]*:(?P<type>qm\w+):[^"]*" failed to complete with exit code: received interrupt`),
		meaning: "the task {type} on {host} was stopped, with `em-infra task stop` or by Stop in Proxmox VE",
		do:      "mend what held it, which its log shows (a storage that hangs, a backup), then " + upAgain,
		safe:    "yes: what it had made is found, and made again",
	},
	{
		name: "task-timeout", speaker: provider, source: "bpg proxmox/nodes/tasks/tasks.go",
		pattern: saying(`timeout while waiting for task "(?P<upid>UPID:(?P<host>[^:]+):[^"]*)" to complete`),
		meaning: "a task on {host} takes longer than the provider waits",
		do:      "look at it with `em-infra task list`; stop it with `em-infra task stop UPID` when it hangs; when it has ended, " + upAgain,
		safe:    "yes, when the task has ended: what it made is found again",
	},
}
