package pve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/poll"
)

// HungError is a task that holds a machine and writes nothing any more. Nobody but a person knows whether it still will.
type HungError struct {
	Task
	// Machine is the VMID of the machine that is held, and Quiet how long nothing was written.
	Machine int
	Quiet   time.Duration
}

func (e *HungError) Error() string {
	return e.What() + ": see in Proxmox VE why it hangs, and stop it there or wait for it; then run up again"
}

// What says which task it is and how it stands.
func (e *HungError) What() string {
	last := "nothing at all"
	if e.Last() != "" {
		last = fmt.Sprintf("%q", e.Last())
	}
	return fmt.Sprintf("VM %d on %s waits for the task %s, which has written nothing for %.0f s (last: %s)", e.Machine, e.Node, e.UPID, e.Quiet.Seconds(), last)
}

// Settle waits until no task works on a machine and no lock is on it, and returns it; nil when there is none. A lock that no task holds any more is a [LockedError], and a task that writes nothing any
// more a [HungError].
func (h Host) Settle(ctx context.Context, node string, vmid int) (*Machine, error) {
	machine, err := h.settle(ctx, node, vmid)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for VM %d on %s: %w", vmid, node, context.Cause(ctx))
	}
	return machine, err
}

// AwaitMade waits until none of these machines is being made any more, whoever has begun that: a run whose provider gave up
// leaves a clone that the state knows nothing of. Errors are those of [Host.Settle].
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
	watch := taskWatch{host: h, machine: vmid, seen: map[string]heard{}}
	began := time.Now()
	idleSince := began
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
		if err := watch.look(tasks, machine.Lock, time.Now()); err != nil {
			return false, err
		}
		if len(tasks) > 0 {
			idleSince = time.Now()
		}
		switch {
		case time.Since(idleSince) > h.patience:
			return false, &LockedError{Node: node, VMID: vmid, Lock: machine.Lock}
		case time.Since(began) > settleTimeout:
			return false, fmt.Errorf("VM %d on %s is still locked (%s) after %s: look at its task in Proxmox VE, then run up again", vmid, node, machine.Lock, settleTimeout)
		default:
			return false, nil
		}
	})
	return settled, err
}

// worked returns a machine, nil for a free VMID, and the tasks that may work on it. They are asked for before the machine is
// looked at: a clone that has just begun has no machine yet, and one that ends in between has made it. A clone that writes of
// its disks has made its machine (qemu-server, API2/Qemu.pm, clone_vm), so where there is none it makes another.
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

// taskWatch follows the tasks that a machine is waited for.
type taskWatch struct {
	host    Host
	machine int
	seen    map[string]heard
	said    string
}

// heard is how much a task had written, and since when that is all.
type heard struct {
	lines int
	since time.Time
}

// look tells what is waited for, and ends the wait for a task that hangs.
func (w *taskWatch) look(tasks []Task, lock string, now time.Time) error {
	for _, task := range tasks {
		known, found := w.seen[task.UPID]
		if !found || known.lines != len(task.Log) {
			w.seen[task.UPID] = heard{lines: len(task.Log), since: now}
			continue
		}
		if quiet := now.Sub(known.since); quiet >= w.host.silence {
			return &HungError{Task: task, Machine: w.machine, Quiet: quiet}
		}
	}
	w.tell(tasks, lock)
	return nil
}

func (w *taskWatch) tell(tasks []Task, lock string) {
	text := fmt.Sprintf("VM %d is locked (%s), and no task works on it; %.0f s at most", w.machine, lock, w.host.patience.Seconds())
	if len(tasks) > 0 {
		text = fmt.Sprintf("VM %d waits for the %s of %s, %.0f min at most", w.machine, tasks[0].Type, tasks[0].Since.Format(time.TimeOnly), settleTimeout.Minutes())
	}
	if w.host.Tell != nil && text != w.said {
		w.host.Tell(text)
	}
	w.said = text
}
