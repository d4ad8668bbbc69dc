package pve

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Task is a running task of a host.
type Task struct {
	// UPID is its name.
	UPID string
	// Node that it runs on.
	Node string
	// Type, e.g. qmclone, and the VMID that it is listed under: for a clone, the VMID of its source.
	Type string
	VMID int
	// Since is its start, by the clock of its host.
	Since time.Time
	// Log is its log so far.
	Log []string
}

// Last returns the last line of its log; empty if there is none.
func (t Task) Last() string {
	if len(t.Log) == 0 {
		return ""
	}
	return t.Log[len(t.Log)-1]
}

// TasksOf returns the tasks on a host that may concern a guest: those listed under its VMID, and clones, which are listed under their source. It
// leaves out a clone whose log names another machine's volumes. A token sees its own tasks without a privilege (pve-manager, PVE/API2/Tasks.pm).
func (r Reader) TasksOf(ctx context.Context, node string, vmid int) ([]Task, error) {
	var active []struct {
		UPID      string `json:"upid"`
		Type      string `json:"type"`
		ID        string `json:"id"`
		StartTime int64  `json:"starttime"`
		EndTime   int64  `json:"endtime"`
	}
	if err := r.get(ctx, &active, nodePath(node, "tasks"), "source", "active"); err != nil {
		return nil, fmt.Errorf("the tasks of %s cannot be read (%w): see that the host answers, then run up again", node, err)
	}
	var found []Task
	for _, one := range active {
		id, _ := strconv.Atoi(one.ID) // 0 for a task without a machine
		if one.EndTime != 0 || !isOfGuest(one.Type) || id != vmid && one.Type != "qmclone" {
			continue
		}
		task := Task{UPID: one.UPID, Node: node, Type: one.Type, VMID: id, Since: time.Unix(one.StartTime, 0)}
		var err error
		if task.Log, err = r.taskLog(ctx, task); err != nil {
			return nil, err
		}
		if !task.isAnothers(vmid) {
			found = append(found, task)
		}
	}
	return found, nil
}

// isOfGuest reports whether tasks of a type work on a guest: those of machines begin with qm, those of containers with vz.
func isOfGuest(kind string) bool {
	return strings.HasPrefix(kind, "qm") || strings.HasPrefix(kind, "vz")
}

// Guest returns the guest that a task is listed under.
func (t Task) Guest() Guest {
	guest := Guest{VMID: t.VMID, Node: t.Node, Type: TypeVM}
	if strings.HasPrefix(t.Type, "vz") {
		guest.Type = TypeContainer
	}
	return guest
}

// isAnothers reports whether a clone's log names volumes, and none of this machine. Only some storages and releases log them
// (qemu-server, QemuServer.pm, clone_disk).
func (t Task) isAnothers(vmid int) bool {
	named := func(line string) bool { return strings.Contains(line, "allocated target volume ") }
	return t.Type == "qmclone" && slices.ContainsFunc(t.Log, named) &&
		!slices.ContainsFunc(t.Log, func(line string) bool { return named(line) && strings.Contains(line, fmt.Sprintf("vm-%d-", vmid)) })
}

// noContent is the one line of an empty log (pve-common, Tools.pm, dump_logfile).
const noContent = "no content"

func (r Reader) taskLog(ctx context.Context, task Task) ([]string, error) {
	var lines []struct {
		Text string `json:"t"`
	}
	if err := r.get(ctx, &lines, taskPath(task.Node, task.UPID)+"/log", "limit", "0"); err != nil { // all of it
		return nil, fmt.Errorf("the log of task %s cannot be read (%w): see that the host answers, then run up again", task.UPID, err)
	}
	var log []string
	for _, line := range lines {
		if text := strings.TrimSpace(line.Text); text != "" && text != noContent {
			log = append(log, text)
		}
	}
	return log, nil
}

// StopTask stops a task. Its worker undoes what it has begun: a clone deletes its incomplete machine (qemu-server,
// API2/Qemu.pm, clone_vm). A token may stop its own tasks without a privilege.
func (h Host) StopTask(ctx context.Context, task Task) error {
	if err := h.client.Delete(ctx, taskPath(task.Node, task.UPID), nil); err != nil {
		return fmt.Errorf("task %s does not let itself be stopped (%w): stop it in Proxmox VE", task.UPID, withoutURL(err))
	}
	return nil
}

func taskPath(node, upid string) string { return nodePath(node, "tasks/"+url.PathEscape(upid)) }
