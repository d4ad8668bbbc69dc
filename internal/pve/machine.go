package pve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Machine is what the host says of a virtual machine.
type Machine struct {
	// Node that it stands on.
	Node string
	// Owner is whose it is by its description; the zero Owner where that says nothing.
	Owner ownership.Owner
	// Birth is the UUID that its firmware shows, by which the program marks each machine that it makes.
	Birth string
	// Name in Proxmox VE; that of an empty machine is "".
	Name string
	// Empty says that a task has only begun to make it: it has no name yet, no disk and no other hardware.
	Empty bool
	// Lock is what the task does that holds it, such as clone; "" for none.
	Lock string
	// Running says that it is on.
	Running bool
	// Ran says by what the host knows that it ran since it was made, or cannot rule it out, as in "it was started"; "" for
	// nothing. A host forgets starts: "" does not say that it never ran.
	Ran string
}

// Host is a Proxmox VE host on which what a killed run left is settled.
type Host struct {
	client   *proxmox.Client
	interval time.Duration
	// patience is how long a lock may outlast the last task before it counts as left behind.
	patience time.Duration
	// silence is how long a task may write nothing until it counts as one that hangs.
	silence time.Duration
	// Tell is told what is waited for, and whenever that becomes another thing. Default: nil, nobody.
	Tell func(string)
}

// NewHost returns the host at the end of a connection. Nothing is sent yet. The error is [ErrToken] or [ErrEndpoint].
func NewHost(c Connection) (Host, error) {
	client, err := c.Client()
	return Host{client: client, interval: settleInterval, patience: lockPatience, silence: taskSilence}, err
}

const (
	settleInterval = time.Second
	// settleTimeout is what the provider gives a clone (timeoutClone).
	settleTimeout = 30 * time.Minute
	lockPatience  = 15 * time.Second
	// taskSilence: a copy says how far it is every second or with each percent.
	taskSilence = 2 * time.Minute
	// taskHistory is more than a host remembers of one machine, which is two files of about 600 tasks.
	taskHistory = 2000
)

// LockedError is a lock that no task holds any more. A token cannot take it away: that takes skiplock, which is for
// root@pam alone (qemu-server API2/Qemu.pm, update_vm_api and destroy_vm).
type LockedError struct {
	Node string
	VMID int
	Lock string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("VM %[1]d on %[2]s is locked (%[3]s) and no task works on it: run `qm unlock %[1]d` on %[2]s, then run up again", e.VMID, e.Node, e.Lock)
}

// Look returns a machine as it is now, on whichever node; nil when there is none that may be seen. A clone for another node is made on the template's and moved at its end.
func (h Host) Look(ctx context.Context, vmid int) (*Machine, error) {
	guests, err := Reader{h.client}.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("the list of VMs cannot be read (%w): see that the host answers, then run up again", err)
	}
	at := slices.IndexFunc(guests, func(guest Guest) bool { return guest.VMID == vmid && guest.Type == "qemu" })
	if at < 0 {
		return nil, nil
	}
	machine, err := h.machine(ctx, guests[at].Node, vmid)
	if err != nil || machine == nil {
		return nil, err
	}
	return h.described(ctx, guests[at].Node, machine)
}

func (h Host) described(ctx context.Context, node string, machine *proxmox.VirtualMachine) (*Machine, error) {
	ran, err := h.history(ctx, node, machine)
	if err != nil {
		return nil, err
	}
	config, err := Reader{h.client}.GuestConfig(ctx, Guest{VMID: int(machine.VMID), Node: node, Type: "qemu"})
	if err != nil {
		return nil, fmt.Errorf("VM %d on %s cannot be looked at (%w): see that the host answers, then run up again", machine.VMID, node, err)
	}
	described := &Machine{
		Node: node, Name: machine.Name, Empty: config.IsEmpty(), Lock: machine.Lock,
		Running: machine.Status != proxmox.StatusVirtualMachineStopped, Ran: ran,
	}
	described.Owner, _ = ownership.In(config["description"])
	described.Birth = smbiosUUID(config["smbios1"])
	if described.Empty {
		described.Name = "" // Proxmox VE says "VM 101" for it
	}
	return described, nil
}

// smbiosUUID returns the UUID among the firmware's settings of a machine, which are written as in uuid=…,base64=1 (qemu-server,
// QemuServer.pm, $smbios1_fmt; the UUID itself is never encoded).
func smbiosUUID(smbios1 string) string {
	for setting := range strings.SplitSeq(smbios1, ",") {
		if uuid, is := strings.CutPrefix(setting, "uuid="); is {
			return strings.ToLower(uuid)
		}
	}
	return ""
}

// Start starts a machine that is off, and returns when it is on. A machine that runs already is as it is to be, whoever has started it.
func (h Host) Start(ctx context.Context, node string, vmid int) error {
	machine, err := h.machine(ctx, node, vmid)
	if err != nil {
		return err
	}
	if machine == nil {
		return fmt.Errorf("VM %d is not on %s any more: run up again", vmid, node)
	}
	const remedy = "look at its start in the tasks of Proxmox VE"
	task, err := machine.Start(ctx)
	if err != nil {
		return fmt.Errorf("start VM %d on %s: %w: %s", vmid, node, withoutURL(err), remedy)
	}
	if err := task.Wait(ctx, h.interval, settleTimeout); err != nil {
		return fmt.Errorf("start VM %d on %s: %w", vmid, node, err)
	}
	if task.IsFailed && strings.Contains(task.ExitStatus, "already running") { // qemu-server, QemuServer.pm, vm_start_nolock
		return nil
	}
	if task.IsFailed {
		return fmt.Errorf("start VM %d on %s: Proxmox VE says %q: %s", vmid, node, task.ExitStatus, remedy)
	}
	return nil
}

// Pending returns the settings of a machine that wait for its next cold start, sorted.
func (h Host) Pending(ctx context.Context, node string, vmid int) ([]string, error) {
	var settings []struct {
		Key     string          `json:"key"`
		Pending json.RawMessage `json:"pending"`
		Delete  json.RawMessage `json:"delete"`
	}
	if err := (Reader{h.client}).get(ctx, &settings, nodePath(node, fmt.Sprintf("qemu/%d/pending", vmid))); err != nil {
		return nil, fmt.Errorf("the pending settings of VM %d on %s cannot be read (%w): see that the host answers, then run up again", vmid, node, err)
	}
	var waiting []string
	for _, setting := range settings {
		if setting.Pending != nil || setting.Delete != nil {
			waiting = append(waiting, setting.Key)
		}
	}
	slices.Sort(waiting)
	return waiting, nil
}

// Delete deletes a machine that is off.
func (h Host) Delete(ctx context.Context, node string, vmid int) error {
	machine, err := h.machine(ctx, node, vmid)
	if err != nil || machine == nil {
		return err
	}
	// The library's own Delete leaves jobs and disks that name the machine behind.
	var upid proxmox.UPID
	path := fmt.Sprintf("/nodes/%s/qemu/%d?purge=1&destroy-unreferenced-disks=1", node, vmid)
	if err := h.client.Delete(ctx, path, &upid); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w: delete it there, then run up again", vmid, node, err)
	}
	task := proxmox.NewTask(upid, h.client)
	if err := task.Wait(ctx, h.interval, settleTimeout); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w", vmid, node, err)
	}
	if task.IsFailed {
		return fmt.Errorf("delete VM %d on %s: Proxmox VE says %q: delete it there, then run up again", vmid, node, task.ExitStatus)
	}
	return nil
}

// machine returns nil for a VMID that is free.
func (h Host) machine(ctx context.Context, node string, vmid int) (*proxmox.VirtualMachine, error) {
	machine, err := h.node(node).VirtualMachine(ctx, vmid)
	switch {
	case err == nil:
		return machine, nil
	case isNoSuchVM(err):
		return nil, nil
	case proxmox.IsNotAuthorized(err):
		return nil, fmt.Errorf("the token may not look at VM %d on %s: give it the privilege VM.Audit, then run up again", vmid, node)
	default:
		return nil, fmt.Errorf("VM %d on %s cannot be looked at (%w): see that the host answers, then run up again", vmid, node, withoutURL(err))
	}
}

// isNoSuchVM reads Proxmox VE's words, its only sign: "Configuration file 'nodes/vmhost/qemu-server/102.conf' does not
// exist" with the status 500.
func isNoSuchVM(err error) bool {
	return strings.Contains(err.Error(), "Configuration file ") && strings.Contains(err.Error(), " does not exist")
}

func (h Host) node(name string) *proxmox.Node { return (&proxmox.Node{}).New(h.client, name) }
