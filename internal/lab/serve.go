package lab

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/truenas"
)

// Options configure a lab.
type Options struct {
	// Dir is the folder of the rehearsal, which holds the lab's state. Required.
	Dir string
	// Stack is the stack that is rehearsed, or another name of the lab. Required.
	Stack string
	// Site is what the lab emulates. Required.
	Site Site
	// Role is a built-in role for the lab's token; "" is the role that em-infra documents.
	Role string
	// TimeScale multiplies the delays of a real host. It is kept in the lab; nil keeps the current value, at first
	// [pace.DefaultScale].
	TimeScale *float64
	// Release is the Proxmox VE release of the host: 8.4, the default, or 9.1. An existing lab cannot change it.
	Release schema.Release
	// Seed determines random choices. It is kept in the lab; "" keeps the current value, at first the stack's name.
	Seed string
	// Lifeline is a file. The lab ends when no process holds a lock on it, so that it ends with the process that started it
	// in every case. With "" it runs until it is stopped.
	Lifeline string
	// Registry is a folder that lists the labs of all projects, so that a new one takes no address of a lab that is stopped;
	// "" is none. The programs use [DefaultRegistry].
	Registry string
	// Kubernetes are the programs of the control planes. If nil, the lab starts no Kubernetes.
	Kubernetes *kubernetes.Tools
	// Log receives the lab's errors. Required.
	Log *slog.Logger
	// Ready is called when the lab listens; nil for none.
	Ready func(Description)
}

// Serve runs the lab: it locks the folder, opens or creates the host, listens, reports to its parent process, and ends with
// ctx. It has saved the state when it returns. If its folder is removed or its lifeline is released, it ends by itself, with
// an error.
func Serve(ctx context.Context, o Options) error {
	held, err := lock(o.Dir)
	if err != nil {
		return sayReady(err)
	}
	defer held.release()
	turn, err := takeTurn(ctx)
	if err != nil {
		return sayReady(err)
	}
	defer turn.Close()
	description, err := describe(o)
	if err != nil {
		return sayReady(err)
	}
	host, err := open(o, description)
	if err != nil {
		return sayReady(err)
	}
	defer host.close(o.Log)
	listeners, err := listen(description, o.Dir)
	if err != nil {
		return sayReady(err)
	}
	defer listeners.close()
	turn.Close()
	if err := description.write(o.Dir); err != nil {
		return sayReady(err)
	}
	if err := sayReady(nil); err != nil {
		return err
	}
	if o.Ready != nil {
		o.Ready(description)
	}
	return host.serveWhileHeld(ctx, held, o.Lifeline, listeners)
}

// emulation has the host, its machines and the Image Factory.
type emulation struct {
	fleet *talos.Fleet
	pods  *kubernetes.Clusters // nil without Kubernetes
	host  *proxmox.Server
	// certificate of the host.
	certificate tls.Certificate
	factory     http.Handler
	nas         *truenas.Box // nil without one
	faults      *fault.Set
	console     *console
	files       []*os.File
}

// open opens everything, or nothing.
func open(o Options, d Description) (*emulation, error) {
	e := &emulation{faults: newFaults(d.Seed)}
	e.factory = withFaults(factory.New(factory.WithStore(schematicsDir(o.Dir))), e.faults)
	if err := e.openHost(o, d); err != nil {
		e.close(o.Log)
		return nil, err
	}
	e.console = &console{faults: e.faults, host: e.host}
	return e, nil
}

func (e *emulation) openHost(o Options, d Description) error {
	speed, err := pace.New(d.TimeScale)
	if err != nil {
		return err
	}
	nodeLog, hostLog, nasLog, err := e.openLogs(o.Dir)
	if err != nil {
		return err
	}
	if err := e.openNAS(o, d, speed, nasLog); err != nil {
		return err
	}
	if e.certificate, err = hostCertificate(o.Dir, d); err != nil {
		return err
	}
	if err := e.openNodes(o, d, speed, nodeLog); err != nil {
		return err
	}
	e.host, err = proxmox.NewServer(proxmox.Config{
		Hosts:     o.Site.Hosts,
		Described: o.Site.described(),
		StandIns:  o.Site.standIns,
		Release:   d.Release,
		Faults:    proxmox.NewFaultSet(speed, e.faults),
		Tokens:    []proxmox.Token{d.token(o.Role)},
		Accounts:  d.accounts(),
		Pace:      speed,
		Machines:  e.machines(o, d),
		Log:       hostLog,
		Seed:      sha256.Sum256([]byte(d.Seed)),
		StateFile: filepath.Join(o.Dir, "host.json"),
	})
	return err
}

func (e *emulation) machines(o Options, d Description) machines {
	return machines{
		fleet: e.fleet, foreign: newForeignGuests(), reservations: reservations{clusters: o.Site.clusters, lab: d}, log: o.Log,
	}
}

// openNodes opens the machines inside the host's VMs, switched off, and their Kubernetes.
func (e *emulation) openNodes(o Options, d Description, speed pace.Pace, log io.Writer) (err error) {
	nodes := talos.Config{
		StateDir:   filepath.Join(o.Dir, "nodes"),
		Pace:       speed,
		Log:        log,
		Seed:       sha256.Sum256([]byte(d.Seed)),
		Faults:     talos.NewFaultSet(e.faults, func(vmid int) string { return e.host.HostOf(vmid) }),
		OnPowerOff: func(vmid int) { e.host.GuestPoweredOff(vmid) },
		Installer:  installer(schematicsDir(o.Dir)),
	}
	if o.Kubernetes != nil {
		e.pods, err = kubernetes.New(kubernetes.Config{
			Dir: filepath.Join(o.Dir, "kubernetes"), Tools: *o.Kubernetes, Scaled: speed.Scaled, Log: o.Log,
		})
		if err != nil {
			return err
		}
		nodes.Kubernetes = e.pods
	}
	e.fleet, err = talos.NewFleet(nodes)
	return err
}

// openLogs opens the call logs of the nodes, of the host and of TrueNAS, JSON lines.
func (e *emulation) openLogs(dir string) (nodes, host, nas *os.File, err error) {
	for _, log := range []struct {
		file **os.File
		name string
	}{{&nodes, NodeCalls(dir)}, {&host, HostCalls(dir)}, {&nas, NASCalls(dir)}} {
		*log.file, err = os.OpenFile(log.name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, nil, err
		}
		e.files = append(e.files, *log.file)
	}
	return nodes, host, nas, nil
}

// serveWhileHeld serves until ctx ends, a server fails, or the lab has to end by itself.
func (e *emulation) serveWhileHeld(ctx context.Context, held *hold, lifeline string, l listeners) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go held.watch(ctx, lifeline, end)
	err := e.serve(ctx, l)
	if cause := context.Cause(ctx); errors.Is(cause, errFolderGone) || errors.Is(cause, errLifeline) {
		return errors.Join(cause, err)
	}
	return err
}

// serve serves until ctx ends or a server fails.
func (e *emulation) serve(ctx context.Context, l listeners) error {
	images := &http.Server{Handler: e.factory, ReadHeaderTimeout: 10 * time.Second}
	bench := &http.Server{Handler: control.Handler(e.console), ReadHeaderTimeout: 10 * time.Second}
	storage := &http.Server{
		Handler: e.nas, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{e.certificate}, MinVersion: tls.VersionTLS12},
	}
	group, ctx := errgroup.WithContext(ctx)
	if l.nas != nil {
		group.Go(func() error { return ignoreClosed(storage.ServeTLS(l.nas, "", "")) })
	}
	group.Go(func() error { return e.host.Serve(l.proxmox, e.certificate) })
	group.Go(func() error { return ignoreClosed(images.Serve(l.factory)) })
	group.Go(func() error { return ignoreClosed(bench.Serve(l.console)) })
	group.Go(func() error {
		<-ctx.Done()
		return errors.Join(ignoreClosed(l.proxmox.Close()), images.Close(), bench.Close(), storage.Close())
	})
	return group.Wait()
}

// close closes the host before its machines, so that the host does not see a power-off.
func (e *emulation) close(log *slog.Logger) {
	var problems []error
	if e.host != nil {
		problems = append(problems, e.host.Close())
	}
	if e.pods != nil {
		problems = append(problems, e.pods.Close())
	}
	if e.fleet != nil {
		problems = append(problems, e.fleet.Close())
	}
	if e.nas != nil {
		problems = append(problems, e.nas.Close())
	}
	for _, file := range e.files {
		problems = append(problems, file.Close())
	}
	if err := errors.Join(problems...); err != nil {
		log.Error("the lab did not end well", "error", err)
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
