package proxmox

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// workers are the goroutines behind the tasks. They end with the server.
type workers struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	cancels map[string]context.CancelFunc
	closers []func()
}

func (w *workers) start() {
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.cancels = map[string]context.CancelFunc{}
}

// stop ends all workers and waits for them.
func (w *workers) stop() {
	w.mu.Lock()
	w.closed = true
	closers := slices.Clone(w.closers)
	w.mu.Unlock()

	for _, closer := range closers {
		closer()
	}

	w.cancel()
	w.group.Wait()
}

func (w *workers) onClose(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closers = append(w.closers, f)
}

// worker is what a task sees of itself.
type worker struct {
	ctx  context.Context
	info TaskInfo
	list *task.List
}

// print writes a line into the task's log.
func (w *worker) print(format string, args ...any) {
	w.list.Print(w.info.UPID, fmt.Sprintf(format, args...))
}

// TaskInfo names a worker to whoever makes it fail.
type TaskInfo struct {
	UPID string
	Node string
	// Type is the worker's type, such as "qmclone"; ID is what it works on, mostly a VMID.
	Type, ID string
	// VMID is the VM that the work brings forth or changes; for a clone it is the new one.
	VMID int
}

// fork starts a worker and returns its UPID (pve-common RESTEnvironment.pm, fork_worker).
func (s *Server) fork(node, kind, id, identity string, vmid int, work func(*worker) error) (string, error) {
	w := &s.workers

	w.mu.Lock()
	defer w.mu.Unlock()

	if w.closed {
		return "", errClosed
	}

	record := s.tasks.Add(node, kind, id, identity)
	ctx, cancel := context.WithCancel(w.ctx)
	w.cancels[record.UPID] = cancel

	info := TaskInfo{UPID: record.UPID, Node: node, Type: kind, ID: id, VMID: vmid}

	w.group.Go(func() {
		defer s.finished(record.UPID)

		err := work(&worker{ctx: ctx, info: info, list: s.tasks})
		if err != nil && ctx.Err() != nil && w.ctx.Err() == nil {
			err = errInterrupted
		}

		s.tasks.Finish(record.UPID, err)
		s.changed()
	})

	return record.UPID, nil
}

// errInterrupted is what a worker dies of when its task is stopped (RESTEnvironment.pm, fork_worker).
var errInterrupted = fmt.Errorf("received interrupt")

func (s *Server) finished(upid string) {
	w := &s.workers

	w.mu.Lock()
	defer w.mu.Unlock()

	w.cancels[upid]()
	delete(w.cancels, upid)
}

// interrupt stops a running worker.
func (s *Server) interrupt(upid string) {
	w := &s.workers

	w.mu.Lock()
	defer w.mu.Unlock()

	if cancel, ok := w.cancels[upid]; ok {
		cancel()
	}
}
