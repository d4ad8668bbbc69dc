// Package tasks reports what the host does for the machines that the engine works on.
package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

const (
	// interval is the interval between two queries of the host's tasks.
	interval = 5 * time.Second
	// silence is how long a task must write nothing before the command to stop it is shown.
	silence = time.Minute
)

// Follow reports the host's tasks for the machines that the engine works on, until stop is called. The provider itself waits
// for tasks without any output (bpg/terraform-provider-proxmox v0.69.1, proxmox/nodes/tasks/tasks.go, WaitForTask). place has the flags
// of the stack for the command that stops a task.
func Follow(ctx context.Context, host pve.Connection, place string, reporter *progress.Reporter) (stop func()) {
	reader, err := pve.NewReader(host)
	if err != nil {
		return func() {} // the engine reports the error, too
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	follower := NewFollower(reader, place)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				follower.ask(ctx, reporter, now)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Follower remembers the length of each task's log.
type Follower struct {
	reader pve.Reader
	place  string
	logs   map[string]log // by UPID
}

// NewFollower returns a follower that has seen no task. place has the flags of the stack for the command that stops a task.
func NewFollower(reader pve.Reader, place string) *Follower {
	return &Follower{reader: reader, place: place, logs: map[string]log{}}
}

// log is the length of a task's log, and since when it is unchanged.
type log struct {
	lines int
	since time.Time
}

// ask queries the tasks of each machine that takes longer than one interval. If the host does not answer, the next tick asks again.
func (f *Follower) ask(ctx context.Context, reporter *progress.Reporter, now time.Time) {
	shown := map[string]bool{}
	for _, work := range reporter.Working() {
		host, vmid := MachineOf(work)
		if vmid == 0 || now.Sub(work.Began) < interval {
			continue
		}
		tasks, err := f.reader.TasksOf(ctx, host, vmid)
		if err != nil || len(tasks) == 0 {
			continue
		}
		task, which := Of(vmid, tasks, shown)
		shown[task.UPID] = true
		reporter.WaitsFor(work.URN, f.Wait(task, which, now))
	}
}

// Of returns the task to report for a machine, and the argument of `task stop` for it. That is the VMID, or the UPID of a clone: a clone has the
// VMID of its source, which does not distinguish it from another clone that has begun by the time the command is typed. Each machine gets a clone
// that was not shown yet, so that all of them are shown.
func Of(vmid int, tasks []pve.Task, shown map[string]bool) (task pve.Task, which string) {
	if at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.VMID == vmid }); at >= 0 {
		return tasks[at], strconv.Itoa(vmid)
	}
	inOrder := slices.SortedFunc(slices.Values(tasks), func(a, b pve.Task) int { return cmp.Compare(a.UPID, b.UPID) })
	at := max(0, slices.IndexFunc(inOrder, func(t pve.Task) bool { return !shown[t.UPID] }))
	return inOrder[at], inOrder[at].UPID
}

// Wait describes a task. If the task has written nothing for a while, it adds the command to stop it.
func (f *Follower) Wait(task pve.Task, which string, now time.Time) progress.Wait {
	known, found := f.logs[task.UPID]
	if !found || known.lines != len(task.Log) {
		known = log{lines: len(task.Log), since: now}
		f.logs[task.UPID] = known
	}
	text := fmt.Sprintf("%s on %s since %s", task.Type, task.Node, task.Since.Format(time.TimeOnly))
	if silent := now.Sub(known.since); silent >= silence {
		return progress.Wait{
			For:     fmt.Sprintf("%s, silent for %.0f min; to stop it:", text, silent.Truncate(time.Minute).Minutes()),
			Command: fmt.Sprintf("task stop %s %s", which, f.place),
		}
	}
	if last := []rune(task.Last()); len(last) > 0 {
		text += ": " + string(last[:min(len(last), lastLineRunes)])
	}
	return progress.Wait{For: text}
}

// lastLineRunes limits the last line of a task's log, so that the message fits into a terminal's line.
const lastLineRunes = 30

// MachineOf returns the host that works on a machine, and its VMID; 0 if the resource is not a machine. A clone runs on the host of
// its source.
func MachineOf(work progress.Work) (host string, vmid int) {
	if work.URN.Type() != token.VirtualMachine {
		return "", 0
	}
	inputs := resource.NewPropertyMapFromMap(work.Inputs)
	host, vmid = stringOf(inputs["nodeName"]), numberOf(inputs["vmId"])
	if clone := inputs["clone"]; clone.IsObject() {
		if source := stringOf(clone.ObjectValue()["nodeName"]); source != "" {
			host = source
		}
	}
	return host, vmid
}

func stringOf(value resource.PropertyValue) string {
	if value.IsString() {
		return value.StringValue()
	}
	return ""
}

func numberOf(value resource.PropertyValue) int {
	if value.IsNumber() {
		return int(value.NumberValue())
	}
	number, _ := strconv.Atoi(stringOf(value)) // anything else is no VMID
	return number
}
