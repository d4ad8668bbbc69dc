// Package task emulates Proxmox VE's workers: each has a UPID, a log and an exit status.
package task

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// StatusOK is the exit status of a successful task.
const StatusOK = "OK"

// unexpected is the exit status of a killed worker (pve-common Tools.pm, upid_read_status).
const unexpected = "unexpected status"

// Record is a stored task.
type Record struct {
	UPID string `json:"upid"`
	Node string `json:"node"`
	Type string `json:"type"`
	// ID is the object of the task, mostly a VMID.
	ID    string   `json:"id"`
	User  string   `json:"user"`
	PID   int      `json:"pid"`
	Start int64    `json:"starttime"`
	End   int64    `json:"endtime,omitempty"`
	Exit  string   `json:"exitstatus,omitempty"`
	Log   []string `json:"log,omitempty"`
	// PStart is the worker's start in clock ticks since the host booted.
	PStart int64 `json:"pstart"`
}

// Running reports whether the worker still runs.
func (r *Record) Running() bool { return r.Exit == "" }

// List has the tasks of all nodes. It is safe for concurrent use.
type List struct {
	mu    sync.Mutex
	tasks map[string]*Record
	// running are the UPIDs of running tasks, oldest first.
	running []string
	// archives hold the ended tasks, by node.
	archives map[string]*archive
	pid      int
	boot     time.Time
	now      func() time.Time
}

// NewList returns an empty list; now is the host's clock.
func NewList(now func() time.Time) *List {
	const firstPID = 1200
	return &List{tasks: map[string]*Record{}, archives: map[string]*archive{}, pid: firstPID, boot: now(), now: now}
}

// NextPID returns a new process ID, for workers and for virtual machines.
func (l *List) NextPID() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.nextPID()
}

func (l *List) nextPID() int {
	l.pid++
	return l.pid
}

// Add adds a worker that is about to run.
func (l *List) Add(node, kind, id, user string) Record {
	l.mu.Lock()
	defer l.mu.Unlock()

	const ticksPerSecond = 100

	r := &Record{
		Node: node, Type: kind, ID: id, User: user, PID: l.nextPID(), Start: l.now().Unix(),
		PStart: int64(l.now().Sub(l.boot).Seconds()*ticksPerSecond) + 1,
	}
	// pve-common Tools.pm, upid_encode.
	r.UPID = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:", node, r.PID, r.PStart, r.Start, kind, id, user)

	l.tasks[r.UPID] = r
	l.running = append(l.running, r.UPID)

	return *r
}

// Print appends to the log of a task, line by line.
func (l *List) Print(upid, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if r, ok := l.tasks[upid]; ok {
		r.Log = append(r.Log, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	}
}

// Finish ends a task with the error of its work, or StatusOK (pve-common RESTEnvironment.pm, fork_worker).
func (l *List) Finish(upid string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	r, ok := l.tasks[upid]
	if !ok || !r.Running() {
		return
	}

	r.End, r.Exit = l.now().Unix(), StatusOK
	last := "TASK OK"

	if err != nil {
		r.Exit = strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", " ")
		last = "TASK ERROR: " + r.Exit
	}

	r.Log = append(r.Log, last)
	l.running = slices.DeleteFunc(l.running, func(other string) bool { return other == upid })
	l.keep(r)
}

// Find returns a copy of a task.
func (l *List) Find(upid string) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	r, ok := l.tasks[upid]
	if !ok {
		return Record{}, false
	}

	return copyOf(r), true
}

// All returns copies of the tasks of all nodes, newest first.
func (l *List) All() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()

	all := make([]Record, 0, len(l.tasks))
	for _, r := range l.tasks {
		all = append(all, copyOf(r))
	}

	slices.SortFunc(all, func(a, b Record) int { return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.PID, a.PID)) })

	return all
}

// OfNode returns copies of one node's tasks in the order of its list: first running tasks, then ended ones, latest end first
// (pve-manager API2/Tasks.pm, node_tasks).
func (l *List) OfNode(node string) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()

	var list []Record

	for _, upid := range slices.Backward(l.running) {
		if r := l.tasks[upid]; r.Node == node {
			list = append(list, copyOf(r))
		}
	}

	for _, upid := range slices.Backward(l.archiveOf(node).lines()) {
		list = append(list, copyOf(l.tasks[upid]))
	}

	return list
}

// Records returns copies of all tasks in the order that [List.Restore] expects.
func (l *List) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()

	var records []Record

	for _, node := range slices.Sorted(maps.Keys(l.archives)) {
		for _, upid := range l.archives[node].lines() {
			records = append(records, copyOf(l.tasks[upid]))
		}
	}

	for _, upid := range l.running {
		records = append(records, copyOf(l.tasks[upid]))
	}

	return records
}

func copyOf(r *Record) Record {
	c := *r
	c.Log = slices.Clone(r.Log)

	return c
}

// Restore fills the list with saved records. Tasks that were running then count as killed.
func (l *List) Restore(records []Record) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.tasks, l.running, l.archives = map[string]*Record{}, nil, map[string]*archive{}

	for _, r := range records {
		if r.Running() {
			r.Exit, r.End = unexpected, l.now().Unix()
		}

		l.pid = max(l.pid, r.PID)
		l.tasks[r.UPID] = &r
		l.keep(&r)
	}
}

// upidForm is the pattern of pve-common Tools.pm, upid_decode.
var upidForm = regexp.MustCompile(
	`^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?):[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8,9}:[0-9A-Fa-f]{8}:[^:\s/]+:[^:\s/]*:[^:\s/]+:$`)

// ValidUPID reports whether a text has the form of a UPID.
func ValidUPID(text string) bool { return upidForm.MatchString(text) }
