package pace

import "time"

// The assumed durations of a Proxmox VE host at scale 1: a small server (4 cores, ZFS mirror on SATA SSDs, gigabit uplink),
// lightly loaded. They are estimates, not measurements. Their order and proportion matter, because they decide which
// operations overlap and which polls find a task still running.
const (
	// ConfigWrite is one write of a VM's configuration to the cluster file system.
	ConfigWrite = 100 * time.Millisecond
	// VolumeAllocate is the creation of one blank volume, during which its storage is locked.
	VolumeAllocate = 200 * time.Millisecond
	// VMCreate is the worker of a new VM with one blank disk: a zvol and a configuration.
	VMCreate = 2 * time.Second
	// VMClone is the worker of a full clone of a blank disk. Data costs VMCopyPerGiB on top.
	VMClone = 4 * time.Second
	// VMCopyPerGiB is the copying of one GiB of written data (about 200 MiB/s within one mirror).
	VMCopyPerGiB = 5 * time.Second
	// VMStart is a start until QEMU runs: regenerating the cloud-init drive and building the machine.
	VMStart = 1500 * time.Millisecond
	// VMStarted is the rest of a start's worker once QEMU runs.
	VMStarted = 500 * time.Millisecond
	// VMShutdown is the time of a shutdown in addition to the guest's own: the ACPI event, QEMU's end, and the polling
	// interval of Proxmox VE, one second.
	VMShutdown = 3 * time.Second
	// VMStop is the time until QEMU quits.
	VMStop = time.Second
	// VMDelete is the worker of a removal: freeing the volumes.
	VMDelete = 2 * time.Second
	// VMResize is the growth of one volume.
	VMResize = time.Second
	// ContainerCreate is the worker of a new container: a file system, and a template of about 120 MB that is unpacked.
	ContainerCreate = 6 * time.Second
	// ContainerStart is a start until the container's init runs.
	ContainerStart = time.Second
	// ContainerShutdown is the time that the services of a small container take to end.
	ContainerShutdown = 2 * time.Second
	// VMMigrate is the worker of an offline migration whose volumes are on shared storage.
	VMMigrate = 3 * time.Second
	// VolumeRemove is the removal of one volume, such as an ISO file.
	VolumeRemove = 500 * time.Millisecond
	// ISODownload is the download of a Talos ISO, about 300 MB.
	ISODownload = 12 * time.Second
	// URLProbe is the HEAD request for a download's size.
	URLProbe = 300 * time.Millisecond
	// NetworkReload is ifreload on a host with a handful of bridges.
	NetworkReload = 2500 * time.Millisecond
	// HARound is one round of the HA manager (pve-ha-manager HA/CRM.pm and HA/LRM.pm, max_time).
	HARound = 10 * time.Second
	// HostReboot is the time from a host's power-on until its API answers.
	HostReboot = 90 * time.Second
)

// Time limits of Proxmox VE itself.
const (
	// ConfigLockTimeout is how long a request waits for the lock of a VM's configuration
	// (pve-guest-common AbstractConfig.pm, lock_config).
	ConfigLockTimeout = 10 * time.Second
	// WorkerLockTimeout is how long a create or clone worker waits for that lock (qemu-server API2/Qemu.pm, clone_vm).
	WorkerLockTimeout = time.Second
	// StorageLockTimeout is how long an allocation waits for its storage (pve-storage Storage/Plugin.pm,
	// cluster_lock_storage).
	StorageLockTimeout = 10 * time.Second
	// DiskTimeout is how long a start waits for the device of a disk (pve-storage Storage/ZFSPoolPlugin.pm, zfs_wait_for_zvol_link).
	DiskTimeout = 5 * time.Minute
	// ShutdownTimeout is the default limit of a shutdown (qemu-server QemuServer.pm, _do_vm_stop).
	ShutdownTimeout = 60 * time.Second
	// AgentPing is how long Proxmox VE waits for a guest agent before it considers it absent (qemu-server
	// QemuServer/Agent.pm, qga_check_running).
	AgentPing = 3 * time.Second
	// HAStopTimeout is how long the HA manager waits for a VM's shutdown before it stops the VM (pve-ha-manager
	// HA/Resources/PVEVM.pm, shutdown).
	HAStopTimeout = 60 * time.Second
	// LoginDelay delays every response that refuses a login (pve-http-server AnyEvent.pm).
	LoginDelay = 3 * time.Second
)
