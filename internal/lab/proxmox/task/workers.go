package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Workers are the goroutines of the tasks. They end with the server, or when the host's power is cut. Under their lock only
// the list is called.
type Workers struct {
	list *List
	// ended is called after each task.
	ended  func()
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// closed is set while no worker may start, final if that is permanent.
	closed bool
	final  bool
	// running are the tasks by UPID, and the host's own work by number.
	running map[string]*running
	spawned int
	closers []func()
}

// running is a running worker.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewWorkers returns workers with a task list. ended is called after each task.
func NewWorkers(list *List, ended func()) *Workers {
	w := &Workers{list: list, ended: ended, running: map[string]*running{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())

	return w
}

// List returns the task list.
func (w *Workers) List() *List { return w.list }

// Stop ends all workers and waits for them.
func (w *Workers) Stop() {
	w.mu.Lock()
	w.closed, w.final = true, true
	closers := slices.Clone(w.closers)
	w.mu.Unlock()

	for _, closer := range closers {
		closer()
	}

	w.cancel()
	w.group.Wait()
}

// OnClose registers a function for the close of the server. It returns false if the server is already closed.
func (w *Workers) OnClose(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closers = append(w.closers, f)

	return !w.final
}

// Beside runs work that survives a power cut, unless the server is closing.
func (w *Workers) Beside(work func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if !w.final {
		w.group.Go(func() { work(w.ctx) })
	}
}

// Halt ends the running workers and prevents new ones until Resume.
func (w *Workers) Halt() {
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

// Resume allows workers again, unless the server is closed.
func (w *Workers) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closed = w.final
}

// Worker is a task from the view of its work.
type Worker struct {
	// Ctx ends when the task is stopped, or the host goes down.
	Ctx  context.Context
	Info Info

	list *List
}

// Print adds a line to the task's log.
func (w *Worker) Print(format string, args ...any) {
	w.list.Print(w.Info.UPID, fmt.Sprintf(format, args...))
}

// Info identifies a worker for faults.
type Info struct {
	UPID string
	Node string
	// Type is the worker's type, such as "qmclone"; ID is its object, mostly a VMID.
	Type, ID string
	// VMID is the VM that the work creates or changes; for a clone it is the new one.
	VMID int
	// Storage of the step, if it has one.
	Storage string
	// PCI are the host's devices for a VM that starts.
	PCI []string
}

var (
	// ErrClosed is returned if no worker may start any more.
	ErrClosed = errors.New("the host is going down")
	// errInterrupted is the error of a worker whose task is stopped (pve-common RESTEnvironment.pm, fork_worker).
	errInterrupted = errors.New("received interrupt")
)

// Fork starts a worker and returns its UPID (RESTEnvironment.pm, fork_worker).
func (w *Workers) Fork(node, kind, id, identity string, vmid int, work func(*Worker) error) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.closed {
		return "", ErrClosed
	}

	record := w.list.Add(node, kind, id, identity)
	info := Info{UPID: record.UPID, Node: node, Type: kind, ID: id, VMID: vmid}

	w.begin(record.UPID, func(ctx context.Context) {
		err := work(&Worker{Ctx: ctx, Info: info, list: w.list})
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}

		w.list.Finish(record.UPID, err)
		w.ended()
	})

	return record.UPID, nil
}

// Spawn starts the host's own work, without a task. It returns false if none may start.
func (w *Workers) Spawn(work func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.closed {
		return false
	}

	w.spawned++
	w.begin(strconv.Itoa(w.spawned), work)

	return true
}

// begin starts work under a unique name. The caller holds the lock.
func (w *Workers) begin(name string, work func(context.Context)) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.running[name] = &running{cancel: cancel, done: make(chan struct{})}

	w.group.Go(func() {
		work(ctx)
		w.finished(name)
	})
}

func (w *Workers) finished(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	r := w.running[name]
	r.cancel()
	close(r.done)
	delete(w.running, name)
}

// Interrupt stops a running worker.
func (w *Workers) Interrupt(upid string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if r, ok := w.running[upid]; ok {
		r.cancel()
	}
}

// Await waits for a worker's end.
func (w *Workers) Await(ctx context.Context, upid string) error {
	w.mu.Lock()
	r, ok := w.running[upid]
	w.mu.Unlock()

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
