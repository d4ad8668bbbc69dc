package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// workers are the goroutines behind the tasks. They end with the server, or when the host's power is cut.
type workers struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// closed is set while no worker may begin, ended once that is for good.
	closed bool
	ended  bool
	// running are the tasks by UPID, and what the host does itself by number.
	running map[string]*running
	spawned int
	closers []func()
}

// running is a worker at its work.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (w *workers) start() {
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.running = map[string]*running{}
}

// stop ends all workers and waits for them.
func (w *workers) stop() {
	w.mu.Lock()
	w.closed, w.ended = true, true
	closers := slices.Clone(w.closers)
	w.mu.Unlock()

	for _, closer := range closers {
		closer()
	}

	w.cancel()
	w.group.Wait()
}

// onClose has something done when the server closes. It reports whether that is still to come.
func (w *workers) onClose(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closers = append(w.closers, f)

	return !w.ended
}

// beside does work that survives a power cut, unless the server is closing.
func (w *workers) beside(work func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if !w.ended {
		w.group.Go(work)
	}
}

// halt ends the workers that run and lets none begin until resume.
func (w *workers) halt() {
	w.mu.Lock()
	w.closed = true

	var ending []*running
	for _, r := range w.running {
		r.cancel()
		ending = append(ending, r)
	}
	w.mu.Unlock()

	for _, r := range ending {
		<-r.done
	}
}

func (w *workers) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closed = w.ended
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
	// Storage is what a step is about, where it is about one.
	Storage string
	// PCI are the devices of the host that a VM starts with.
	PCI []string
}

var (
	errClosed = errors.New("the host is going down")
	// errInterrupted is what a worker dies of when its task is stopped (pve-common RESTEnvironment.pm, fork_worker).
	errInterrupted = errors.New("received interrupt")
)

// fork starts a worker and returns its UPID (RESTEnvironment.pm, fork_worker).
func (s *Server) fork(node, kind, id, identity string, vmid int, work func(*worker) error) (string, error) {
	w := &s.workers

	w.mu.Lock()
	defer w.mu.Unlock()

	if w.closed {
		return "", errClosed
	}

	record := s.tasks.Add(node, kind, id, identity)
	info := TaskInfo{UPID: record.UPID, Node: node, Type: kind, ID: id, VMID: vmid}

	w.begin(record.UPID, func(ctx context.Context) {
		err := work(&worker{ctx: ctx, info: info, list: s.tasks})
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}

		s.tasks.Finish(record.UPID, err)
		s.changed()
	})

	return record.UPID, nil
}

// spawn starts work of the host's own, which is no task. It reports false when none may begin.
func (w *workers) spawn(work func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.closed {
		return false
	}

	w.spawned++
	w.begin(strconv.Itoa(w.spawned), work)

	return true
}

// begin starts work under a name of its own. The lock is held.
func (w *workers) begin(name string, work func(context.Context)) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.running[name] = &running{cancel: cancel, done: make(chan struct{})}

	w.group.Go(func() {
		work(ctx)
		w.finished(name)
	})
}

func (w *workers) finished(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	r := w.running[name]
	r.cancel()
	close(r.done)
	delete(w.running, name)
}

// interrupt stops a running worker.
func (s *Server) interrupt(upid string) {
	w := &s.workers

	w.mu.Lock()
	defer w.mu.Unlock()

	if r, ok := w.running[upid]; ok {
		r.cancel()
	}
}

// await waits for a worker's end.
func (s *Server) await(ctx context.Context, upid string) error {
	s.workers.mu.Lock()
	r, ok := s.workers.running[upid]
	s.workers.mu.Unlock()

	if !ok {
		return nil
	}

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
		return nil
	}
}
