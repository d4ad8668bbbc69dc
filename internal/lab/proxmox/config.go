package proxmox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storages"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// The description of a host and of its VMs.
type (
	// Host is one node.
	Host = hardware.Host
	// Storage is a storage of one host.
	Storage = hardware.Storage
	// Bridge is a Linux bridge of a host.
	Bridge = hardware.Bridge
	// PCIDevice is a device that can be passed through.
	PCIDevice = hardware.PCIDevice

	// Setup is how a host was set up by a person; SetupChange changes it.
	Setup       = hardware.Setup
	SetupChange = hardware.SetupChange

	// Token is an API token with its role.
	Token = accesscontrol.Token
	// Account is a user who can log in.
	Account = accesscontrol.Account

	// Machines runs what is inside the VMs.
	Machines = machine.Machines
	// Machine is the virtual hardware of a VM.
	Machine = machine.Machine
	// Disk is a disk of a machine.
	Disk = machine.Disk
	// CloudInit is what the cloud-init drive configures.
	CloudInit = machine.CloudInit
	// Guest is what a guest agent reports about its machine.
	Guest = machine.Guest
	// GuestInterface is a network interface inside the guest.
	GuestInterface = machine.GuestInterface
	// VM is a virtual machine in the host's overview.
	VM = qemu.VM

	// StandIn is what the lab has in the place of a file on the internet.
	StandIn = storages.StandIn

	// Call is a request in the call log.
	Call = journal.Entry
	// TaskInfo identifies a worker for faults, Step is a point in its work, and Effect is a delayed result of it.
	TaskInfo = task.Info
	Step     = task.Step
	Effect   = task.Effect
	// Endpoint is a method of the API.
	Endpoint = api.Endpoint
)

// The steps at which workers can fail, and the effects that can be delayed.
const (
	StepLock     = task.StepLock
	StepAllocate = task.StepAllocate
	StepCopy     = task.StepCopy
	StepStart    = task.StepStart
	StepShutdown = task.StepShutdown
	StepDownload = task.StepDownload
	StepReload   = task.StepReload
	EffectUnlock = task.EffectUnlock
	EffectStatus = task.EffectStatus
)

// Faults is called for every call and every worker before the work, so that a test or a user can make it fail.
// Implementations must be safe for concurrent use.
type Faults interface {
	api.Faults
	task.Faults
}

type noFaults struct{}

func (noFaults) Call(context.Context, Call) error           { return nil }
func (noFaults) Lost(Call) bool                             { return false }
func (noFaults) Step(context.Context, TaskInfo, Step) error { return nil }
func (noFaults) Lag(TaskInfo, Effect) time.Duration         { return 0 }

var _ Faults = noFaults{}

// Config describes the emulated host or cluster of hosts.
type Config struct {
	// Hosts are the nodes. The first one answers requests that name none.
	Hosts []Host
	// Described is called before each request. It returns the hosts if their description has changed, otherwise nil.
	// Additions are available to the request. Default: nil, no changes.
	Described func() []Host
	// Release is the Proxmox VE release; the default is 8.4.
	Release schema.Release
	// Tokens are the initial API tokens.
	Tokens []Token
	// Accounts are the initial users with a password.
	Accounts []Account
	// Pace scales the time of operations. The zero value has no delays.
	Pace pace.Pace
	// Machines receives the power changes of the VMs. The default ignores them.
	Machines Machines
	// Log receives one JSON line per call. The default discards them.
	Log io.Writer
	// Seed determines every generated MAC address and UUID.
	Seed [32]byte
	// StateFile keeps the host over restarts; "" keeps it in memory.
	StateFile string
	// Faults makes calls and workers fail. The default never does.
	Faults Faults
	// Downloads fetches the URLs of download-url. The default is http.DefaultClient without a proxy.
	Downloads *http.Client
	// StandIns returns what stands in for the file at a URL, which is then not downloaded. The default has none.
	StandIns func(url string) (StandIn, bool)
	// Now is the host's clock; the default is the real one.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Release == "" {
		c.Release = schema.Release84
	}

	if c.Described == nil {
		c.Described = func() []Host { return nil }
	}

	if c.Machines == nil {
		c.Machines = machine.None{}
	}

	if c.Log == nil {
		c.Log = io.Discard
	}

	if c.Faults == nil {
		c.Faults = noFaults{}
	}

	if c.Downloads == nil {
		c.Downloads = &http.Client{Transport: &http.Transport{Proxy: nil}}
	}

	if c.StandIns == nil {
		c.StandIns = func(string) (StandIn, bool) { return StandIn{}, false }
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	return c
}

// validate returns all mistakes. Each wraps [hardware.ErrInvalid].
func (c Config) validate() error {
	problems := []error{hardware.Validate(c.Hosts)}

	for _, t := range c.Tokens {
		if schema.CheckFormat("pve-tokenid", t.ID) != nil || t.Secret == "" {
			problems = append(problems, fmt.Errorf("%w: token %q needs the form USER@REALM!NAME and a secret",
				hardware.ErrInvalid, t.ID))
		}
	}

	return errors.Join(problems...)
}
