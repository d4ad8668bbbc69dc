package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Workers are the goroutines behind the tasks. They end with the server, or when the host's power is cut. Their lock is
// held for moments only, and nothing but the list is called under it.
type Workers struct {
	list *List
	// ended is told of each task that has ended.
	ended  func()
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// closed is set while no worker may begin, final once that is for good.
	closed bool
	final  bool
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

// NewWorkers are workers whose tasks are kept in a list. What ended is told each time that a task has.
func NewWorkers(list *List, ended func()) *Workers {
	w := &Workers{list: list, ended: ended, running: map[string]*running{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())

	return w
}

// List is where the tasks are kept.
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

// OnClose has something done when the server closes. It reports whether that is still to come.
func (w *Workers) OnClose(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closers = append(w.closers, f)

	return !w.final
}

// Beside does work that survives a power cut, unless the server is closing.
func (w *Workers) Beside(work func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if !w.final {
		w.group.Go(func() { work(w.ctx) })
	}
}

// Halt ends the workers that run and lets none begin until Resume.
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

// Resume lets workers begin again, unless the server has ended them for good.
func (w *Workers) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.closed = w.final
}

// Worker is what a task sees of itself.
type Worker struct {
	// Ctx ends when the task is stopped, and when the host goes down.
	Ctx  context.Context
	Info Info

	list *List
}

// Print writes a line into the task's log.
func (w *Worker) Print(format string, args ...any) {
	w.list.Print(w.Info.UPID, fmt.Sprintf(format, args...))
}

// Info names a worker to whoever makes it fail.
type Info struct {
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
	// ErrClosed says that no worker may begin any more.
	ErrClosed = errors.New("the host is going down")
	// errInterrupted is what a worker dies of when its task is stopped (pve-common RESTEnvironment.pm, fork_worker).
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

// Spawn starts work of the host's own, which is no task. It reports false when none may begin.
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

// begin starts work under a name of its own. The lock is held.
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
