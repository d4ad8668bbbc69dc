package task

import "fmt"

// mostBytes is the size beyond which a node's index is put away (pve-common RESTEnvironment.pm, active_workers: 50 000
// bytes, "about 1000 entries"; a line of a machine's task has about 85, so it is some 600).
const mostBytes = 50_000

// archive is what a node remembers of the tasks that have ended: /var/log/pve/tasks/index, and index.1, which the index
// becomes when it is full. There is no third one: the next that is full overwrites it, and what was in it is in no list any
// more. All guests of the node share them.
type archive struct {
	// index and previous are UPIDs, the first to end first.
	index, previous []string
	// bytes is the size of the index.
	bytes int
}

// lines are the UPIDs of all that is remembered, the first to end first.
func (a *archive) lines() []string {
	return append(append([]string(nil), a.previous...), a.index...)
}

// archiveOf is the archive of a node. The lock is held.
func (l *List) archiveOf(node string) *archive {
	if l.archives[node] == nil {
		l.archives[node] = &archive{}
	}

	return l.archives[node]
}

// keep puts a task that has ended into its node's archive. What is no longer in a list is forgotten whole; a real host keeps
// its log until a daily job (pve-manager, bin/pveupdate). The lock is held.
func (l *List) keep(r *Record) {
	a := l.archiveOf(r.Node)
	a.index = append(a.index, r.UPID)
	a.bytes += len(fmt.Sprintf("%s %08X %s\n", r.UPID, r.End, r.Exit))

	if a.bytes <= mostBytes {
		return
	}

	for _, upid := range a.previous {
		delete(l.tasks, upid)
	}

	a.index, a.previous, a.bytes = nil, a.index, 0
}
