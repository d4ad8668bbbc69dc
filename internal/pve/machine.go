package pve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Machine is a virtual machine on the host.
type Machine struct {
	// Node of the machine.
	Node string
	// Owner is the owner in its description; zero if there is none.
	Owner ownership.Owner
	// Stack is the stack of systems whose mark is its whole description; "" if it is no system of a stack.
	Stack string
	// Birth is the UUID of its firmware, the birth identifier of each machine that the program creates.
	Birth string
	// Name in Proxmox VE; "" for an empty machine.
	Name string
	// Empty is true if a task has only begun to create it: it has no name yet, no disk and no other hardware.
	Empty bool
	// Lock is the operation that holds it, such as clone; "" for none.
	Lock string
	// Running is true if it is on.
	Running bool
	// Ran is the evidence that it ran since it was created, or why that cannot be ruled out, as in "it was started"; "" for none.
	// A host forgets starts: "" does not mean that it never ran.
	Ran string
}

// Host is a Proxmox VE host on which the leftovers of a killed run are settled.
type Host struct {
	client   *proxmox.Client
	interval time.Duration
	// lockTimeout is how long a lock may exist after the last task before it counts as orphaned.
	lockTimeout time.Duration
	// silence is how long a task may write nothing before it counts as hung.
	silence time.Duration
	// Tell is called with the description of each wait. Default: nil, no call.
	Tell func(string)
}

// NewHost returns the host of a connection. It sends no request. The error is [ErrToken] or [ErrEndpoint].
func NewHost(c Connection) (Host, error) {
	client, err := c.Client()
	return Host{client: client, interval: settleInterval, lockTimeout: defaultLockTimeout, silence: taskSilence}, err
}

const (
	settleInterval = time.Second
	// settleTimeout is the provider's timeout of a clone (timeoutClone).
	settleTimeout      = 30 * time.Minute
	defaultLockTimeout = 15 * time.Second
	// taskSilence is long enough since a copy reports its progress every second or with each percent.
	taskSilence = 2 * time.Minute
	// taskHistory is more tasks than a host keeps for one machine: two files of about 600 tasks.
	taskHistory = 2000
)

// LockedError is a lock without a task. A token cannot remove it: that requires skiplock, which only root@pam has (qemu-server
// API2/Qemu.pm, update_vm_api and destroy_vm).
type LockedError struct {
	Node string
	VMID int
	// Type is [TypeVM] or [TypeContainer].
	Type string
	Lock string
}

func (e *LockedError) Error() string {
	if e.Type == TypeContainer { // only a creation is waited for, and one that was cut off may lack files
		return fmt.Sprintf("CT %[1]d on %[2]s is half made: it is locked (%[3]s), and no task that the token sees works on it: if a run of this stack began it, run `pct unlock %[1]d` "+
			"and `pct destroy %[1]d --purge` on %[2]s, then run up again; else give the system another vmid in systems.yaml",
			e.VMID, e.Node, e.Lock)
	}
	return fmt.Sprintf("VM %[1]d on %[2]s is locked (%[3]s) and no task works on it: run `qm unlock %[1]d` on %[2]s, then run up again", e.VMID, e.Node, e.Lock)
}

// Look returns the current state of a machine, on whichever node; nil if there is none that the token may see. A clone for
// another node is created on the template's node and moved at its end.
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

// Owned returns the machines of an owner that the token may see, by their marks.
func (h Host) Owned(ctx context.Context, owner ownership.Owner) (owned []Guest, err error) {
	reader := Reader{h.client}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("the list of VMs cannot be read (%w): see that the host answers, then run up again", err)
	}
	for _, guest := range guests {
		if guest.Type != "qemu" || bool(guest.Template) {
			continue
		}
		config, err := reader.GuestConfig(ctx, guest)
		if err != nil {
			return nil, fmt.Errorf("VM %d on %s cannot be looked at (%w): give the token the privilege VM.Audit", guest.VMID, guest.Node, err)
		}
		if its, isMarked := ownership.In(config["description"]); isMarked && its == owner {
			owned = append(owned, guest)
		}
	}
	return owned, nil
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
	described.Stack = ownership.StackOfSystem(config["description"])
	described.Birth = smbiosUUID(config["smbios1"])
	if described.Empty {
		described.Name = "" // Proxmox VE returns "VM 101" for a machine without a name
	}
	return described, nil
}

// smbiosUUID returns the UUID in the firmware's settings of a machine, such as uuid=…,base64=1 (qemu-server, QemuServer.pm,
// $smbios1_fmt; the UUID itself is never encoded).
func smbiosUUID(smbios1 string) string {
	for setting := range strings.SplitSeq(smbios1, ",") {
		if uuid, is := strings.CutPrefix(setting, "uuid="); is {
			return strings.ToLower(uuid)
		}
	}
	return ""
}

// Start starts a machine that is off, and returns when it is on. A machine that already runs is no error.
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
	if !hasFailed(task) || strings.Contains(task.ExitStatus, "already running") { // qemu-server, QemuServer.pm, vm_start_nolock
		return nil
	}
	return fmt.Errorf("start VM %d on %s: Proxmox VE says %q: %s", vmid, node, task.ExitStatus, remedy)
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
	// The library's own Delete keeps jobs and disks of the machine.
	var upid proxmox.UPID
	path := fmt.Sprintf("/nodes/%s/qemu/%d?purge=1&destroy-unreferenced-disks=1", node, vmid)
	if err := h.client.Delete(ctx, path, &upid); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w: delete it there, then run up again", vmid, node, err)
	}
	task := proxmox.NewTask(upid, h.client)
	if err := task.Wait(ctx, h.interval, settleTimeout); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w", vmid, node, err)
	}
	if hasFailed(task) {
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
	default:
		return nil, unseen(Guest{VMID: vmid, Node: node, Type: TypeVM}, err)
	}
}

// unseen returns the error for a guest that cannot be looked at.
func unseen(guest Guest, err error) error {
	if proxmox.IsNotAuthorized(err) || errors.Is(err, ErrForbidden) {
		return fmt.Errorf("the token may not look at %s: give it the privilege VM.Audit, then run up again", guest)
	}
	return fmt.Errorf("%s cannot be looked at (%w): see that the host answers, then run up again", guest, withoutURL(err))
}

// isNoSuchVM reports whether an error means that the VM does not exist. Its only sign is the text "Configuration file
// 'nodes/vmhost/qemu-server/102.conf' does not exist" with the status 500.
func isNoSuchVM(err error) bool {
	return strings.Contains(err.Error(), "Configuration file ") && strings.Contains(err.Error(), " does not exist")
}

// locked matches what Proxmox VE answers about a guest that it has locked (pve-guest-common, AbstractConfig.pm, check_lock).
var locked = regexp.MustCompile(`\b(?:VM|CT) is locked \(`)

// IsLocked reports whether an error means that a guest is locked: a task works on it, or did when its host crashed. Its only sign is the text.
func IsLocked(err error) bool { return locked.MatchString(err.Error()) }

func (h Host) node(name string) *proxmox.Node { return (&proxmox.Node{}).New(h.client, name) }
