package proxmox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
)

// faultKind is a failure of the catalogue. It concerns calls, or a step of workers, or an effect that they leave.
type faultKind struct {
	name, about string

	// call tells which calls it concerns, answer what they get.
	call   func(Call) bool
	answer func(Call) error

	// step and tasks tell which workers it concerns, all types where there are none; fail is what they end with. A
	// fault without it only takes time.
	step  Step
	tasks []string
	fail  func(TaskInfo) error

	// effect lags by lag.
	effect Effect
	lag    time.Duration

	// wait is the host's time that passes before the failure.
	wait time.Duration
}

// statusTimeout is how Proxmox VE's client side reports a connection that did not come about (AnyEvent::HTTP).
const statusTimeout = 596

// configEndpoint is the path of a VM's configuration.
const configEndpoint = "/nodes/{node}/qemu/{vmid}/config"

// startsWorker lists the calls that begin a VM's worker.
var startsWorker = []string{
	"/nodes/{node}/qemu", "/nodes/{node}/qemu/{vmid}", "/nodes/{node}/qemu/{vmid}/clone",
	"/nodes/{node}/qemu/{vmid}/status/start",
}

func anyCall(Call) bool { return true }

// catalogue is what can be asked for. The texts are those that real hosts answer with.
var catalogue = []faultKind{
	{
		name: "config-lock-timeout", about: "changing a VM's configuration waits for its lock in vain",
		call:   func(c Call) bool { return c.Write() && c.Endpoint == configEndpoint },
		answer: func(c Call) error { return errors.New(flock.TimeoutText(flock.ConfigFile(c.VMID))) },
		wait:   pace.ConfigLockTimeout,
	},
	{
		name: "storage-lock-timeout", about: "allocating a volume waits for its storage's lock in vain",
		step: StepAllocate, wait: pace.StorageLockTimeout,
		fail: func(t TaskInfo) error {
			return errors.New(flock.TimeoutText("/var/lock/pve-manager/pve-storage-" + t.Storage))
		},
	},
	{
		name: "storage-full", about: "a storage has no room for a new volume",
		step: StepAllocate, tasks: []string{"", "qmcreate", "qmclone", "qmconfig", "qmmove"},
		fail: func(t TaskInfo) error {
			return fmt.Errorf("zfs error: cannot create '%s/vm-%d-disk-0': out of space", t.Storage, t.VMID)
		},
	},
	{
		name: "clone-fails", about: "a clone breaks off in the middle",
		step: StepCopy, tasks: []string{"qmclone"}, wait: pace.VMClone / 2,
		fail: func(TaskInfo) error {
			return errors.New("block job (mirror) error: drive-scsi0: 'mirror' has been cancelled")
		},
	},
	{
		name: "lock-lingers", about: "a clone's configuration stays locked for three seconds after its task",
		effect: EffectUnlock, lag: 3 * time.Second,
	},
	{
		name: "status-lags", about: "a started VM shows as stopped for three seconds after its task",
		effect: EffectStatus, lag: 3 * time.Second,
	},
	{
		name: "start-fails", about: "QEMU does not come up",
		step: StepStart, fail: func(TaskInfo) error { return errQEMU },
	},
	{
		name: "gpu-in-use", about: "a VM's PCI device belongs to another VM",
		step: StepStart,
		fail: func(TaskInfo) error { return errors.New("PCI device '0000:01:00.0' already in use by VMID '999'") },
	},
	{
		name: "template-missing", about: "the source of a clone is gone",
		call: func(c Call) bool { return c.Endpoint == "/nodes/{node}/qemu/{vmid}/clone" },
		answer: func(c Call) error {
			return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", c.Node, c.VMID)
		},
	},
	{
		name: "no-worker", about: "the host cannot start a worker",
		call:   func(c Call) bool { return c.Write() && slices.Contains(startsWorker, c.Endpoint) },
		answer: func(Call) error { return errors.New("got no worker upid - start worker failed") },
	},
	{
		name: "download-fails", about: "a download breaks off",
		step: StepDownload, wait: pace.ISODownload / 2,
		fail: func(TaskInfo) error {
			return errors.New("download failed: command '/usr/bin/wget' failed: exit code 4")
		},
	},
	{
		name: "slow-reload", about: "a reload of the network takes twelve seconds",
		step: StepReload, wait: 12*time.Second - pace.NetworkReload,
	},
	{
		name: "unauthorized", about: "the token is not valid any more (401)",
		call: anyCall, wait: pace.LoginDelay,
		answer: func(Call) error {
			return &statusError{status: http.StatusUnauthorized, message: errAuthentication.Error(), plain: true}
		},
	},
	{
		name: "forbidden", about: "the token lacks a privilege (403)",
		call:   anyCall,
		answer: func(Call) error { return &access.Refusal{} },
	},
	{
		name: "unreachable", about: "the node that a request is passed on to does not answer (596)",
		call: func(c Call) bool { return c.Node != "" }, wait: 5 * time.Second,
		answer: func(Call) error {
			return &statusError{status: statusTimeout, message: "Connection timed out", plain: true}
		},
	},
}
