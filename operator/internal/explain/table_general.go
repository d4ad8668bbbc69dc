package explain

// general contains errors that report only that something ended. Rows for the error that they quote come first.
var general = []row{
	{
		name: "copy-broke", speaker: proxmox, failure: "F18", source: "qemu-server QemuServer/BlockJob.pm, monitor",
		pattern: saying(`block job \(\w+\) error: [^"\n]+`),
		meaning: "the copy of a disk broke off: the storage failed, or somebody stopped the task",
		do:      "see the storage (zpool status, dmesg) on the host, then " + upAgain,
		safe:    "yes: the half copy is deleted and made anew",
	},
	{
		name: "clone-failed", speaker: proxmox, failure: "F18", source: "qemu-server API2/Qemu.pm, clone_vm",
		pattern: saying(`clone failed: (?P<why>[^"\n]+)`),
		meaning: "a clone of the template ended early: {why}",
		do:      "mend what it says, then " + upAgain,
		safe:    "yes: Proxmox VE deletes the half clone, or the next run does",
	},
	{
		name: "task-lost", speaker: proxmox, source: "pve-manager API2/Tasks.pm",
		pattern: saying(`no such task`),
		meaning: "the host has forgotten a task that it began: it went down in between",
		do:      "wait until it is up (`em-infra preflight`), then " + upAgain,
		safe:    "yes: what the task made is found and settled",
	},
	{
		name: "permission-unnamed", speaker: proxmox, failure: "F13", source: "pve-http-server AnyEvent.pm, the provider's words for a 403",
		pattern: saying(`(?:HTTP 403 response|403 Permission check failed|Permission check failed)`),
		meaning: "the token may not do that",
		do:      "`em-infra preflight` says what is missing and where, and `em-infra role` how to give it",
		safe:    goesOn,
	},
}
