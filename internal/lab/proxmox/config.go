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
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// What a host is described with, and what runs in it.
type (
	// Host is one node.
	Host = hardware.Host
	// Storage is a storage as one host has it.
	Storage = hardware.Storage
	// Bridge is a Linux bridge of a host.
	Bridge = hardware.Bridge
	// PCIDevice is a device that may be passed through.
	PCIDevice = hardware.PCIDevice

	// Token is an API token with the role it has.
	Token = accesscontrol.Token
	// Account is a user who may open a session.
	Account = accesscontrol.Account

	// Machines is what runs inside the VMs.
	Machines = machine.Machines
	// Machine is the hardware that a VM shows its guest.
	Machine = machine.Machine
	// Disk is a disk of a machine.
	Disk = machine.Disk
	// CloudInit is what the cloud-init drive configures.
	CloudInit = machine.CloudInit
	// Guest is what a guest agent tells of its machine.
	Guest = machine.Guest
	// GuestInterface is a network interface inside the guest.
	GuestInterface = machine.GuestInterface
	// VM is a virtual machine as the host's overview shows it.
	VM = qemu.VM

	// Call is one request as the call log has it.
	Call = journal.Entry
	// TaskInfo names a worker to whoever makes it fail, Step a point in its work, and Effect what it leaves behind.
	TaskInfo = task.Info
	Step     = task.Step
	Effect   = task.Effect
	// Endpoint is a method of the API.
	Endpoint = api.Endpoint
)

// The steps at which workers can fail, and the effects that can lag behind.
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

// Faults is the one place that every call and every worker passes before it does its work, so that a test or an operator can
// make it fail. Implementations must be safe for concurrent use.
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

// Config describes the host, or cluster of hosts, that is emulated.
type Config struct {
	// Hosts are the nodes. The first one answers requests that name none.
	Hosts []Host
	// Described is asked before each request whether the hosts are described otherwise by now: nil when they are not. What
	// they have more is then there for the request. The default never asks.
	Described func() []Host
	// Release is the Proxmox VE release; the default is 8.4.
	Release schema.Release
	// Tokens are the API tokens that exist from the start.
	Tokens []Token
	// Accounts have a password from the start.
	Accounts []Account
	// Pace scales the time that operations take. The zero value takes none.
	Pace pace.Pace
	// Machines receives the power of the VMs. The default ignores it.
	Machines Machines
	// Log receives one JSON line per call. The default drops them.
	Log io.Writer
	// Seed decides every generated MAC address and UUID.
	Seed [32]byte
	// StateFile keeps the host over restarts; "" keeps it in memory.
	StateFile string
	// Faults makes calls and workers fail. The default never does.
	Faults Faults
	// Downloads fetches what download-url asks for. The default is http.DefaultClient without a proxy.
	Downloads *http.Client
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

	if c.Now == nil {
		c.Now = time.Now
	}

	return c
}

// validate reports every mistake at once, each of which wraps [hardware.ErrInvalid].
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
