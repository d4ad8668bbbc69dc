package explain

var storages = []row{
	{
		name: "zfs-full", speaker: proxmox, source: "pve-storage Storage/ZFSPoolPlugin.pm, zfs_request",
		pattern: saying(`zfs error: cannot create '(?P<volume>[^']+)': out of space`),
		meaning: "the pool has no room for {volume}",
		do:      "free space (zfs list -o space), or set diskStorage or diskGiB, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "lvm-full", speaker: proxmox, source: "lvm2, lib/metadata/lv_manip.c",
		pattern: saying(`Volume group "(?P<group>[^"]+)" has insufficient free space \((?P<free>\d+) extents\)`),
		meaning: "volume group {group} has no room for the disk",
		do:      "free space (vgs, lvs), or set diskStorage or diskGiB, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "storage-absent", speaker: proxmox, source: "pve-storage Storage.pm, storage_config",
		pattern: saying(`storage '(?P<storage>[^']+)' does not exist`),
		meaning: "Proxmox VE has no storage {storage}",
		do:      "correct isoStorage or diskStorage in the inventory (pvesm status lists what there is), then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "storage-elsewhere", speaker: proxmox, failure: "F19", source: "pve-storage Storage.pm, storage_check_node",
		pattern: saying(`storage '(?P<storage>[^']+)' is not available on node '(?P<host>[^']+)'`),
		meaning: "storage {storage} is not for {host}",
		do:      "set diskStorage of that node to one that {host} has, or add {host} to the storage under Datacenter, Storage; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "storage-off", speaker: proxmox, source: "pve-storage Storage.pm, storage_check_enabled and activate_storage",
		pattern: saying(`storage '(?P<storage>[^']+)' is (?:disabled|not online)`),
		meaning: "storage {storage} is switched off or cannot be reached",
		do:      "see pvesm status on the host, enable or mount it, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-images", speaker: proxmox, failure: "F15", source: "qemu-server API2/Qemu.pm, check_storage_access",
		pattern: saying(`storage '(?P<storage>[^']+)' does not support (?:vm images|content-type 'images')`),
		meaning: "storage {storage} takes no disks",
		do:      "choose another diskStorage, or allow it disk images under Datacenter, Storage; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-iso", speaker: proxmox, failure: "F15", source: "pve-storage API2/Storage/Status.pm, download_url",
		pattern: saying(`storage '(?P<storage>[^']+)' is not configured for content-type '(?P<content>\w+)'`),
		meaning: "storage {storage} takes no {content} files",
		do:      "choose another isoStorage, or allow it {content} under Datacenter, Storage; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "iso-exists", speaker: proxmox, failure: "F16", source: "pve-common Tools.pm, download_file_from_url",
		pattern: saying(`refusing to override existing file '(?P<file>[^']+)'`),
		meaning: "the ISO is there already, from a run whose state is lost or from another stack",
		do:      "rm {file} on the host if no VM names it (grep -r in /etc/pve/qemu-server), then " + upAgain,
		safe:    "yes, if no VM names it: one that does would not start without it",
	},
	{
		name: "iso-gone", speaker: proxmox, failure: "F16", source: "pve-storage Storage.pm, qemu-server QemuServer/Drive.pm",
		pattern: saying(`volume '(?P<volume>[^']+)' does not exist`),
		meaning: "a machine names {volume}, which is deleted: it does not start without",
		do:      "download the file again under its name, or qm set VMID --ide3 none,media=cdrom on its host; then " + upAgain,
		safe:    "yes: an installed node boots from its disk",
	},
	{
		name: "root-full", speaker: "the machine", source: "errno(3), ENOSPC",
		pattern: saying(`(?i)no space left on device`),
		meaning: "a file system is full: that of the host, of the node, or of this machine, as the words before say",
		do:      "free space there (df -h), then " + upAgain,
		safe:    "yes, but a state that was being written may need `em-infra state restore`",
	},
}
