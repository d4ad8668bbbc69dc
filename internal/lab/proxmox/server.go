// Package proxmox emulates the API of Proxmox VE for a host or a cluster of hosts that exists in memory only: what a provider
// sees over HTTPS, with tasks that take time, locks, permissions and limited storage.
//
// A Server combines the parts. The front, package api, finds the method of a request and checks the caller, the permissions
// and the parameters. The methods are divided as in Proxmox VE: ha, qemu, lxc, storages, network, mapping, nodes, cluster,
// accesscontrol and tasks are services, each with its own private state and lock. Below them are packages without a host's
// state: access, storage, task and vmconfig implement one database, storage, task and configuration, schema has the API
// description, hardware the description of the hosts, and flock the lock files. Services receive each other as small
// interfaces that they declare.
//
// Locks are taken in this order: first lock files, which are held during an operation; then the locks of the services, which
// are held for moments, in the order of [Server.keepers]: ha, qemu (its configurations), lxc, storages, network, mapping, nodes,
// cluster, accesscontrol; then those of qemu's processes and statistics and of the environment, which call nothing. A service
// that holds its lock calls only services later in this order.
//
// Facts come from the sources of Proxmox VE 8.4 (qemu-server 8.4, pve-manager 8.4, pve-storage 8.3, pve-access-control 8.2,
// pve-http-server, pve-common 8.3) and 9.1; comments name the file.
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
	"github.com/em-infra/em-infra/internal/lab/proxmox/lxc"
	"github.com/em-infra/em-infra/internal/lab/proxmox/mapping"
	"github.com/em-infra/em-infra/internal/lab/proxmox/network"
	"github.com/em-infra/em-infra/internal/lab/proxmox/nodes"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storages"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/tasks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// Server is an emulated host or cluster. It is an http.Handler for HTTP/1.1.
type Server struct {
	config  Config
	env     *host.Environment
	journal *journal.Journal
	front   *api.Front
	services

	// growing serializes the growth of the hosts.
	growing sync.Mutex
	// down is set while the hosts reboot.
	down  atomic.Bool
	boots sync.Once
	saver saver
}

// services are the parts of a host, each with its own state and lock.
type services struct {
	users    *accesscontrol.Service
	storages *storages.Service
	network  *network.Service
	mappings *mapping.Service
	ha       *ha.Service
	vms      *qemu.Service
	lxc      *lxc.Service
	nodes    *nodes.Service
	cluster  *cluster.Service
	tasks    *tasks.Service
}

// newServices creates the services with their dependencies.
func newServices(env *host.Environment, c Config) services {
	var s services

	s.users = accesscontrol.New(env)
	s.tasks = tasks.New(env, s.users)
	s.storages = storages.New(env, s.users, c.Downloads, c.StandIns)
	s.network = network.New(env, s.users)
	s.mappings = mapping.New(env, s.users)
	s.ha = ha.New(env)
	s.vms = qemu.New(env, qemu.Parts{
		Permissions: s.users, Storages: s.storages, Network: s.network, Mappings: s.mappings, HA: s.ha, Machines: c.Machines,
	})
	s.ha.Manage(s.vms)
	s.lxc = lxc.New(env, lxc.Parts{Permissions: s.users, Storages: s.storages, Network: s.network})
	s.nodes = nodes.New(env, s.users, s.vms)
	s.cluster = cluster.New(env, cluster.Parts{
		Users: s.users, VMs: s.vms, Containers: s.lxc, HA: s.ha, Nodes: s.nodes, Storages: s.storages,
	})

	return s
}

// methods returns all methods that the lab serves.
func (s services) methods() []api.Method {
	return slices.Concat(s.cluster.Methods(), s.nodes.Methods(), s.tasks.Methods(), s.storages.Methods(), s.network.Methods(),
		s.vms.Methods(), s.lxc.Methods(), s.mappings.Methods(), s.ha.Methods(), s.users.Methods())
}

// Endpoints returns the methods that the lab serves.
func Endpoints() []Endpoint {
	env := newEnvironment(Config{}.withDefaults(), &schema.Schema{}, journal.New(nil), func() {})
	methods := newServices(env, Config{}.withDefaults()).methods()

	endpoints := make([]Endpoint, len(methods))
	for i, m := range methods {
		endpoints[i] = m.Endpoint
	}

	return endpoints
}

func newEnvironment(c Config, described *schema.Schema, log *journal.Journal, changed func()) *host.Environment {
	return &host.Environment{
		Release: c.Release, Schema: described, Seed: c.Seed, Pace: c.Pace, Now: c.Now, Random: host.NewRandom(c.Seed),
		Nodes: hardware.NewCluster(nil), Guests: vmlist.New(), Locks: &flock.Locks{}, Tasks: task.NewWorkers(task.NewList(c.Now), changed),
		Faults: c.Faults, Changed: changed, Note: log.Note,
	}
}

// NewServer creates the host of the configuration, or restores it from its state file. The error contains all mistakes in the
// configuration; each wraps [hardware.ErrInvalid].
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
	s.services = newServices(s.env, config)

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

// Serve serves on a listener with a certificate until the listener is closed or Close is called.
func (s *Server) Serve(listener net.Listener, certificate tls.Certificate) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		// Failures are answered over a hijacked connection. Failed TLS handshakes are the caller's concern.
		ErrorLog: log.New(discard{}, "", 0),
		// An empty map disables HTTP/2, which Proxmox VE does not support.
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

// Close stops the host like a power cut: it saves the current state, and workers end without finishing. It returns the error
// of the last write of the state file, and the first error of the call log.
func (s *Server) Close() error {
	err := s.saver.stop()
	s.env.Tasks.Stop()

	return errors.Join(err, s.journal.Failure())
}

// ServeHTTP handles one request, unless the hosts are down.
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

// VMs returns the host's VMs, sorted by ID.
func (s *Server) VMs() []VM { return s.vms.VMs() }

// Volumes returns the volume IDs of all storages, as NODE/VOLUME for storages that are not shared.
func (s *Server) Volumes() []string { return s.storages.IDs() }

// HostOf returns the host of a VM, "" if it does not exist.
func (s *Server) HostOf(vmid int) string { return s.vms.HostOf(vmid) }

// HostNames returns the nodes of the cluster.
func (s *Server) HostNames() []string { return s.env.Nodes.Names() }

// GuestPoweredOff records that a machine has turned itself off.
func (s *Server) GuestPoweredOff(vmid int) { s.vms.GuestPoweredOff(vmid) }

// Unlock does what root does at the host's console with `qm unlock`.
func (s *Server) Unlock(ctx context.Context, vmid int) error { return s.vms.Unlock(ctx, vmid) }

// Reset restarts a running VM like a reset button, as `qm reset` does on the host.
func (s *Server) Reset(ctx context.Context, vmid int) error { return s.vms.Reset(ctx, vmid) }
