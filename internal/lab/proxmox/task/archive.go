package task

import "fmt"

// mostBytes is the size at which a node's index is rotated (pve-common RESTEnvironment.pm, active_workers: 50 000 bytes,
// "about 1000 entries"; a VM's task has a line of about 85 bytes, so that is about 600).
const mostBytes = 50_000

// archive has a node's ended tasks: /var/log/pve/tasks/index, and index.1, to which a full index is renamed. The next full
// index overwrites index.1, and its tasks are then in no list. All guests of the node share the archive.
type archive struct {
	// index and previous are UPIDs, in the order in which the tasks ended.
	index, previous []string
	// bytes is the size of the index.
	bytes int
}

// lines returns all UPIDs, in the order in which the tasks ended.
func (a *archive) lines() []string {
	return append(append([]string(nil), a.previous...), a.index...)
}

// archiveOf returns the archive of a node. The caller holds the lock.
func (l *List) archiveOf(node string) *archive {
	if l.archives[node] == nil {
		l.archives[node] = &archive{}
	}

	return l.archives[node]
}

// keep adds an ended task to its node's archive. A task that is in no list any more is deleted completely; a real host keeps
// its log until a daily job (pve-manager, bin/pveupdate). The caller holds the lock.
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
