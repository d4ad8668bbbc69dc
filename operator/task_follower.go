package operator

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
	// taskInterval is between two looks at what the host works on.
	taskInterval = 5 * time.Second
	// taskSilence is how long a task writes nothing until the way to stop it is named.
	taskSilence = time.Minute
)

// followTasks tells what the host does for the machines that the engine works on, until it is stopped: the provider waits for
// tasks without a word (bpg/terraform-provider-proxmox v0.69.1, proxmox/nodes/tasks/tasks.go, WaitForTask).
func (s *session) followTasks(ctx context.Context, reporter *progress.Reporter) (stop func()) {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return func() {} // the engine says so, too
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	follow := taskFollower{reader: reader, place: s.place.Stack, logs: map[string]taskLog{}}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(taskInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				follow.ask(ctx, reporter, now)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// taskFollower remembers how much each task had written.
type taskFollower struct {
	reader pve.Reader
	place  string
	logs   map[string]taskLog // by UPID
}

// taskLog is how much a task had written, and since when.
type taskLog struct {
	lines int
	since time.Time
}

// ask finds out about each machine that takes longer than a moment. A host that does not answer now is asked again.
func (f *taskFollower) ask(ctx context.Context, reporter *progress.Reporter, now time.Time) {
	shown := map[string]bool{}
	for _, work := range reporter.Working() {
		host, vmid := machineOf(work)
		if vmid == 0 || now.Sub(work.Began) < taskInterval {
			continue
		}
		tasks, err := f.reader.TasksOf(ctx, host, vmid)
		if err != nil || len(tasks) == 0 {
			continue
		}
		task, which := taskFor(vmid, tasks, shown)
		shown[task.UPID] = true
		reporter.WaitsFor(work.URN, f.wait(task, which, now))
	}
}

// taskFor is the task to tell of beside a machine, and how `task stop` is to be asked for it: by the machine, or by its UPID where
// nothing tells which of several clones is the machine's. Then each machine has another one that was not shown yet, so that all of
// them are named.
func taskFor(vmid int, tasks []pve.Task, shown map[string]bool) (task pve.Task, which string) {
	if at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.VMID == vmid }); at >= 0 {
		return tasks[at], strconv.Itoa(vmid)
	}
	if len(tasks) == 1 {
		return tasks[0], strconv.Itoa(vmid)
	}
	inOrder := slices.SortedFunc(slices.Values(tasks), func(a, b pve.Task) int { return cmp.Compare(a.UPID, b.UPID) })
	at := max(0, slices.IndexFunc(inOrder, func(t pve.Task) bool { return !shown[t.UPID] }))
	return inOrder[at], inOrder[at].UPID
}

// wait says what a task does, and how it is stopped when it has written nothing for a while.
func (f *taskFollower) wait(task pve.Task, which string, now time.Time) progress.Wait {
	known, found := f.logs[task.UPID]
	if !found || known.lines != len(task.Log) {
		known = taskLog{lines: len(task.Log), since: now}
		f.logs[task.UPID] = known
	}
	text := fmt.Sprintf("%s on %s since %s", task.Type, task.Node, task.Since.Format(time.TimeOnly))
	if silent := now.Sub(known.since); silent >= taskSilence {
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

// lastLineRunes keep the line of a task within that of a terminal.
const lastLineRunes = 30

// machineOf is the host that works on a machine for the engine, and its VMID; 0 for what is no machine. A clone works on its
// source's host.
func machineOf(work progress.Work) (host string, vmid int) {
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
	number, _ := strconv.Atoi(stringOf(value)) // whatever else it is, it is no VMID
	return number
}
