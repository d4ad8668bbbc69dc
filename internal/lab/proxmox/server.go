// Package proxmox emulates the API of Proxmox VE for a host, or a cluster of hosts, that exists in memory only: what a
// provider sees of it over HTTPS, with tasks that take time, locks, permissions and a storage that fills up.
//
// A Server puts it together. The front, package api, finds the method that a request asks for and checks who calls, what for
// and with which parameters. What answers is divided as Proxmox VE divides it: ha, qemu, storages, network, mapping, nodes,
// cluster, accesscontrol and tasks are services, each with a state and a lock of its own that nobody else sees. Beneath them
// are packages that keep no state of a host: access, storage, task and vmconfig know how one database, storage, task and
// configuration behaves, schema the description of the API, hardware that of the hosts, and flock how lock files are waited
// for. Services are given each other as small interfaces that they declare.
//
// Locks are taken in this order: lock files first, which are held for as long as an operation takes; then the locks of the
// services, which are held for moments, in the order of [Server.keepers]: ha, qemu (its configurations), storages, network,
// mapping, nodes, cluster, accesscontrol; then those of qemu's processes and statistics and of the environment, which call nobody. A service that holds its lock calls only those
// after it.
//
// Facts come from the sources of Proxmox VE 8.4 (qemu-server 8.4, pve-manager 8.4, pve-storage 8.3,
// pve-access-control 8.2, pve-http-server, pve-common 8.3) and 9.1; comments name the file.
package proxmox

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/cluster"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/ha"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/mapping"
	"github.com/em-infra/em-infra/internal/lab/proxmox/network"
	"github.com/em-infra/em-infra/internal/lab/proxmox/nodes"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storages"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/tasks"
)

// Server is an emulated host or cluster. It is an http.Handler for HTTP/1.1.
type Server struct {
	config  Config
	env     *host.Environment
	journal *journal.Journal
	front   *api.Front
	services

	// growing lets the hosts grow one description after the other.
	growing sync.Mutex
	// down is set while the hosts reboot.
	down  atomic.Bool
	boots sync.Once
	saver saver
}

// services are the parts of a host, each with a state and a lock of its own.
type services struct {
	users    *accesscontrol.Service
	storages *storages.Service
	network  *network.Service
	mappings *mapping.Service
	ha       *ha.Service
	vms      *qemu.Service
	nodes    *nodes.Service
	cluster  *cluster.Service
	tasks    *tasks.Service
}

// newServices gives each part what it needs of the others.
func newServices(env *host.Environment, machines machine.Machines, downloads *http.Client) services {
	var s services

	s.users = accesscontrol.New(env)
	s.tasks = tasks.New(env, s.users)
	s.storages = storages.New(env, s.users, downloads)
	s.network = network.New(env, s.users)
	s.mappings = mapping.New(env, s.users)
	s.ha = ha.New(env)
	s.vms = qemu.New(env, qemu.Parts{
		Permissions: s.users, Storages: s.storages, Network: s.network, Mappings: s.mappings, HA: s.ha, Machines: machines,
	})
	s.ha.Manage(s.vms)
	s.nodes = nodes.New(env, s.users, s.vms)
	s.cluster = cluster.New(env, cluster.Parts{
		Users: s.users, VMs: s.vms, HA: s.ha, Nodes: s.nodes, Storages: s.storages,
	})

	return s
}

// methods are everything that the lab serves.
func (s services) methods() []api.Method {
	return slices.Concat(s.cluster.Methods(), s.nodes.Methods(), s.tasks.Methods(), s.storages.Methods(), s.network.Methods(),
		s.vms.Methods(), s.mappings.Methods(), s.ha.Methods(), s.users.Methods())
}

// Endpoints lists the methods that the lab serves.
func Endpoints() []Endpoint {
	env := newEnvironment(Config{}.withDefaults(), &schema.Schema{}, journal.New(nil), func() {})
	methods := newServices(env, machine.None{}, nil).methods()

	endpoints := make([]Endpoint, len(methods))
	for i, m := range methods {
		endpoints[i] = m.Endpoint
	}

	return endpoints
}

func newEnvironment(c Config, described *schema.Schema, log *journal.Journal, changed func()) *host.Environment {
	return &host.Environment{
		Release: c.Release, Schema: described, Seed: c.Seed, Pace: c.Pace, Now: c.Now, Random: host.NewRandom(c.Seed),
		Nodes: hardware.NewCluster(nil), Locks: &flock.Locks{}, Tasks: task.NewWorkers(task.NewList(c.Now), changed),
		Faults: c.Faults, Changed: changed, Note: log.Note,
	}
}

// NewServer builds the host that the configuration describes, or restores it from its state file. Mistakes in the
// configuration wrap [hardware.ErrInvalid] and are all reported at once.
func NewServer(config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}

	described, err := schema.Load(config.Release)
	if err != nil {
		return nil, err
	}

	s := &Server{config: config, journal: journal.New(config.Log), saver: newSaver()}
	s.env = newEnvironment(config, described, s.journal, s.saver.changed)
	s.services = newServices(s.env, config.Machines, config.Downloads)

	s.front, err = api.NewFront(api.Config{
		Release: config.Release, Schema: described, Methods: s.methods(), Access: s.users, Nodes: s.env.Nodes,
		Faults: config.Faults, Journal: s.journal, Pace: config.Pace, Now: config.Now, PowerCut: s.cutPowerLater,
	})
	if err != nil {
		return nil, err
	}

	if err := s.load(); err != nil {
		return nil, err
	}

	go s.saver.run(s.save, s.journal.Note)

	return s, nil
}

// Serve answers on a listener with a certificate until the listener is closed or Close is called.
func (s *Server) Serve(listener net.Listener, certificate tls.Certificate) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		// Failures are answered by taking over the connection; TLS handshakes that fail are the caller's to notice.
		ErrorLog: log.New(discard{}, "", 0),
		// An empty map keeps HTTP/2 off, which Proxmox VE does not speak.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
		},
	}

	open := s.env.Tasks.OnClose(func() {
		if err := server.Close(); err != nil {
			s.journal.Note("listener not closed", err)
		}
	})
	if !open {
		return listener.Close()
	}

	if len(certificate.Certificate) > 0 {
		s.nodes.Show(certificate.Certificate[0])
	}

	if err := s.bootOnce(); err != nil && !errors.Is(err, task.ErrClosed) {
		return errors.Join(err, listener.Close())
	}

	err := server.ServeTLS(listener, "", "")
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}

	return err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close takes the host down as a power cut does: what was running is written down as it is, workers end without
// finishing. It returns the error of the last writing of the state file, and the first of writing the call log.
func (s *Server) Close() error {
	err := s.saver.stop()
	s.env.Tasks.Stop()

	return errors.Join(err, s.journal.Failure())
}

// ServeHTTP answers one request, unless the hosts are down.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.down.Load() {
		api.HangUp(w)
		return
	}

	s.follow()
	s.front.ServeHTTP(w, r)
}

// Calls returns the latest calls, oldest first: at least the last 5000.
func (s *Server) Calls() []Call { return s.journal.Entries() }

// VMs lists the host's VMs by ID.
func (s *Server) VMs() []VM { return s.vms.VMs() }

// Volumes lists the volume IDs of all storages, as NODE/VOLUME for those that are not shared.
func (s *Server) Volumes() []string { return s.storages.IDs() }

// HostOf names the host that a VM is on, "" for one that is not there.
func (s *Server) HostOf(vmid int) string { return s.vms.HostOf(vmid) }

// HostNames are the nodes of the cluster.
func (s *Server) HostNames() []string { return s.env.Nodes.Names() }

// GuestPoweredOff tells the host that a machine has turned itself off.
func (s *Server) GuestPoweredOff(vmid int) { s.vms.GuestPoweredOff(vmid) }

// Unlock is what root does at the host's console with `qm unlock`.
func (s *Server) Unlock(ctx context.Context, vmid int) error { return s.vms.Unlock(ctx, vmid) }

// Reset restarts a VM that runs as the button on a computer does, and as `qm reset` on the host.
func (s *Server) Reset(ctx context.Context, vmid int) error { return s.vms.Reset(ctx, vmid) }
