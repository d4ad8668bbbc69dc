package proxmox

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/power"
)

// ofTypes selects tasks of these types; "" is a call without a task.
func ofTypes(types ...string) func(TaskInfo) bool {
	return func(t TaskInfo) bool { return slices.Contains(types, t.Type) }
}

// workFaults occur in the worker of a call, or in its effects.
var workFaults = []faultKind{
	{
		Kind: fault.Kind{
			Name: "storage-lock-timeout", About: "allocating a volume waits for its storage's lock in vain", Source: "F18",
		},
		step: StepAllocate, wait: pace.StorageLockTimeout,
		fail: func(t TaskInfo) error {
			return errors.New(flock.TimeoutText("/var/lock/pve-manager/pve-storage-" + t.Storage))
		},
	},
	{
		Kind: fault.Kind{
			Name: "storage-full", About: "a storage has no room for a new volume", Source: "pve-storage Storage/ZFSPoolPlugin.pm",
		},
		step: StepAllocate, work: ofTypes("", "qmcreate", "qmclone", "qmconfig", "qmmove"),
		fail: func(t TaskInfo) error {
			return fmt.Errorf("zfs error: cannot create '%s/vm-%d-disk-0': out of space", t.Storage, t.VMID)
		},
	},
	{
		Kind: fault.Kind{Name: "clone-fails", About: "a clone breaks off in the middle", Source: "qemu-server QemuServer.pm"},
		step: StepCopy, work: ofTypes("qmclone"), wait: pace.VMClone / 2,
		fail: func(TaskInfo) error {
			return errors.New("block job (mirror) error: drive-scsi0: 'mirror' has been cancelled")
		},
	},
	{
		Kind: fault.Kind{
			Name: "move-disk-fails", About: "a move of a disk to another storage breaks off in the middle",
			Source: "qemu-server QemuServer/QemuImage.pm",
		},
		step: StepCopy, work: ofTypes("qmmove"),
		fail: func(TaskInfo) error { return disks.ErrCopy },
	},
	{
		Kind: fault.Kind{
			Name: "clone-hangs", About: "a clone does not end and keeps its lock, until its task is stopped or the fault is cleared", Source: "F35",
		},
		step: StepCopy, work: ofTypes("qmclone"), hangs: true,
	},
	{
		Kind: fault.Kind{
			Name: "lock-lingers", About: "a clone's configuration stays locked for three seconds after its task", Source: "F18",
		},
		effect: EffectUnlock, lag: 3 * time.Second,
	},
	{
		Kind: fault.Kind{
			Name: "status-lags", About: "a started VM shows as stopped for three seconds after its task",
			Source: "pve-manager Service/pvestatd.pm",
		},
		effect: EffectStatus, lag: 3 * time.Second,
	},
	{
		Kind: fault.Kind{Name: "start-fails", About: "QEMU does not come up", Source: "qemu-server QemuServer.pm"},
		step: StepStart, fail: func(TaskInfo) error { return power.ErrQEMU },
	},
	{
		Kind: fault.Kind{
			Name: "disk-gone", About: "a disk of a machine is not on its storage any more, as after its drive has died",
			Source: "pve-storage Storage/ZFSPoolPlugin.pm",
		},
		step: StepStart, wait: pace.DiskTimeout,
		fail: func(t TaskInfo) error {
			return fmt.Errorf("timeout: no zvol device link for 'vm-%d-disk-1' found after %.0f sec.", t.VMID, pace.DiskTimeout.Seconds())
		},
	},
	{
		Kind: fault.Kind{Name: "gpu-in-use", About: "another VM, 999, has the PCI device of a VM that starts", Source: "F14"},
		step: StepStart, work: func(t TaskInfo) bool { return len(t.PCI) > 0 },
		fail: func(t TaskInfo) error {
			return fmt.Errorf("PCI device '%s' already in use by VMID '999'", t.PCI[0])
		},
	},
	{
		Kind: fault.Kind{Name: "shutdown-ignored", About: "a guest does not react to its power button", Source: "F24"},
		step: StepShutdown, fail: func(TaskInfo) error { return power.ErrButtonIgnored },
	},
	{
		Kind: fault.Kind{Name: "download-fails", About: "a download breaks off", Source: "F16"},
		step: StepDownload, wait: pace.ISODownload / 2,
		fail: func(TaskInfo) error {
			return errors.New("download failed: command '/usr/bin/wget' failed: exit code 4")
		},
	},
	{
		Kind: fault.Kind{Name: "slow-reload", About: "a reload of the network takes twelve seconds", Source: "pve-manager API2/Network.pm"},
		step: StepReload, wait: 12*time.Second - pace.NetworkReload,
	},
	{
		Kind: fault.Kind{
			Name: "reload-fails", About: "a reload of the network fails half way: the file is the new one, an interface is not",
			Source: "pve-manager API2/Network.pm",
		},
		step: StepReload, fail: func(TaskInfo) error { return errors.New("command 'ifreload -a' failed: exit code 1") },
	},
}
