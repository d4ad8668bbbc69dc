package pve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/poll"
)

// HungError is a task that holds a machine and no longer writes to its log. Only a person can decide whether it still works.
type HungError struct {
	Task
	// Machine is the VMID of the held machine, and Type its type, [TypeVM] or [TypeContainer]. Silence is how long nothing was written.
	Machine int
	Type    string
	Silence time.Duration
}

func (e *HungError) Error() string {
	return e.What() + ": see in Proxmox VE why it hangs, and stop it there or wait for it; then run up again"
}

// What describes the task and its progress.
func (e *HungError) What() string {
	last := "nothing at all"
	if e.Last() != "" {
		last = fmt.Sprintf("%q", e.Last())
	}
	return fmt.Sprintf("%s waits for the task %s, which has written nothing for %.0f s (last: %s)",
		Guest{VMID: e.Machine, Node: e.Task.Node, Type: e.Type}, e.UPID, e.Silence.Seconds(), last)
}

// Settle waits until no task works on a machine and it has no lock, and returns it; nil if there is none. A lock without a task
// is a [LockedError], and a task that no longer writes a [HungError].
func (h Host) Settle(ctx context.Context, node string, vmid int) (*Machine, error) {
	machine, err := h.settle(ctx, node, vmid)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for VM %d on %s: %w", vmid, node, context.Cause(ctx))
	}
	return machine, err
}

// AwaitMade waits until none of these machines is being created any more, no matter which run began that: a run whose provider gave up leaves a clone
// that is not in the state. Errors are those of [Host.Settle].
func (h Host) AwaitMade(ctx context.Context, vmids []int) error {
	guests, err := Reader{h.client}.Guests(ctx)
	if err != nil {
		return fmt.Errorf("the list of VMs cannot be read (%w): see that the host answers, then run up again", err)
	}
	for _, guest := range guests {
		isBeingMade := guest.Type == "qemu" && (guest.Lock == "clone" || guest.Lock == "create")
		if !isBeingMade || !slices.Contains(vmids, guest.VMID) {
			continue
		}
		if _, err := h.Settle(ctx, guest.Node, guest.VMID); err != nil {
			return err
		}
	}
	return nil
}

func (h Host) settle(ctx context.Context, node string, vmid int) (*Machine, error) {
	watch := h.watch(vmid, TypeVM)
	var settled *Machine
	err := poll.Until(ctx, h.interval, func(ctx context.Context) (bool, error) {
		machine, tasks, err := h.worked(ctx, node, vmid)
		switch {
		case err != nil:
			return false, err
		case machine == nil && len(tasks) == 0:
			return true, nil
		case machine == nil:
			machine = &proxmox.VirtualMachine{Lock: "being made"}
		case machine.Lock == "":
			settled, err = h.described(ctx, node, machine)
			return true, err
		}
		return false, watch.look(node, tasks, machine.Lock, time.Now())
	})
	return settled, err
}

// worked returns a machine, nil for a free VMID, and the tasks that may work on it. The tasks are queried before the machine: a clone that has just
// begun has no machine yet, and one that ends in between has created it. A clone that has logged work on its disks has created its machine
// (qemu-server, API2/Qemu.pm, clone_vm), so if this machine does not exist, the clone creates another one.
func (h Host) worked(ctx context.Context, node string, vmid int) (*proxmox.VirtualMachine, []Task, error) {
	tasks, err := Reader{h.client}.TasksOf(ctx, node, vmid)
	if err != nil {
		return nil, nil, err
	}
	machine, err := h.machine(ctx, node, vmid)
	if machine == nil {
		tasks = slices.DeleteFunc(tasks, func(t Task) bool { return t.Type == "qmclone" && len(t.Log) > 0 })
	}
	return machine, tasks, err
}

// taskWatch follows the tasks that a wait for a guest depends on.
type taskWatch struct {
	host      Host
	vmid      int
	kind      string
	seen      map[string]progress
	reported  string
	began     time.Time
	idleSince time.Time // no task has worked on the guest since then
}

// watch begins a wait for a guest of a type.
func (h Host) watch(vmid int, kind string) *taskWatch {
	now := time.Now()
	return &taskWatch{host: h, vmid: vmid, kind: kind, seen: map[string]progress{}, began: now, idleSince: now}
}

// progress is how much a task had written, and since when it has written nothing more.
type progress struct {
	lines int
	since time.Time
}

// look reports what is waited for. It returns an error that ends the wait for a task that hangs, for a lock without a task, and after
// [settleTimeout].
func (w *taskWatch) look(node string, tasks []Task, lock string, now time.Time) error {
	if err := w.hung(tasks, now); err != nil {
		return err
	}
	w.tell(tasks, lock)
	if len(tasks) > 0 {
		w.idleSince = now
	}
	switch {
	case now.Sub(w.idleSince) > w.host.lockTimeout:
		return &LockedError{Node: node, VMID: w.vmid, Type: w.kind, Lock: lock}
	case now.Sub(w.began) > settleTimeout:
		return fmt.Errorf("%s is still locked (%s) after %s: look at its task in Proxmox VE, then run up again", w.guest(node), lock, settleTimeout)
	default:
		return nil
	}
}

func (w *taskWatch) guest(node string) Guest { return Guest{VMID: w.vmid, Node: node, Type: w.kind} }

// hung returns the error for a task that no longer writes.
func (w *taskWatch) hung(tasks []Task, now time.Time) error {
	for _, task := range tasks {
		known, found := w.seen[task.UPID]
		if !found || known.lines != len(task.Log) {
			w.seen[task.UPID] = progress{lines: len(task.Log), since: now}
			continue
		}
		if silence := now.Sub(known.since); silence >= w.silence() {
			return &HungError{Task: task, Machine: w.vmid, Type: w.kind, Silence: silence}
		}
	}
	return nil
}

// silence returns how long a task may write nothing. The creation of a container unpacks its template without any output (pve-container,
// LXC/Create.pm, restore_tar_archive).
func (w *taskWatch) silence() time.Duration {
	if w.kind == TypeContainer {
		return 5 * w.host.silence
	}
	return w.host.silence
}

func (w *taskWatch) tell(tasks []Task, lock string) {
	text := fmt.Sprintf("%s is locked (%s), and no task works on it; %.0f s at most", w.guest("").named(), lock, w.host.lockTimeout.Seconds())
	if len(tasks) > 0 {
		text = fmt.Sprintf("%s waits for the %s of %s, %.0f min at most", w.guest("").named(), tasks[0].Type, tasks[0].Since.Format(time.TimeOnly), settleTimeout.Minutes())
	}
	if w.host.Tell != nil && text != w.reported {
		w.host.Tell(text)
	}
	w.reported = text
}
