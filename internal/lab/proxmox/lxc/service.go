// Package lxc has the containers of a cluster (pve-container). It keeps their configuration files and which of them run. Nothing is
// emulated inside them: a container that is on stays on until a request turns it off.
//
// An operation that changes a configuration holds its lock file for its whole duration. The service's own lock is held for
// moments; the permissions, the storages and the network are called under it.
package lxc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// Permissions checks what callers may do, by access control entries and by pools.
type Permissions interface {
	Allowed(identity, path string, privileges ...string) bool
	Check(identity, path string, anyOf bool, privileges ...string) error
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error

	Pool(name string) (access.Pool, bool)
	JoinPool(vmid int, pool string)
	ForgetVM(vmid int)
}

// Storages hold the templates and the volumes of containers.
type Storages interface {
	On(id, node string) (storage.Definition, error)
	Lock(ctx context.Context, info task.Info, node, id string) (release func(), err error)

	Volume(node, id string) (storage.Volume, error)
	CheckVolume(identity, node string, vmid int, volume string) error
	Owned(node string, vmid int) []string

	Allocate(id string, r storage.Request) (storage.Volume, error)
	Resize(node, id string, bytes uint64) error
	Free(node, id string)

	CanSnapshot(node, id string) (bool, error)
	Snapshot(node, id, name string) error
	CheckRollback(node, id, name string) error
	DropSnapshot(node, id, name string) error
}

// Network has the bridges of the nodes.
type Network interface{ IsBridge(node, name string) bool }

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Permissions Permissions
	Storages    Storages
	Network     Network
}

// Service has the containers of a cluster. It is safe for concurrent use.
type Service struct {
	env   *host.Environment
	parts Parts

	mu         sync.Mutex
	containers map[int]*container
	// running are the containers that are on, with the time of their start.
	running map[int]process
}

// process is the init process of a container.
type process struct {
	pid   int
	since time.Time
}

// New returns a cluster without containers.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{parts: parts, env: env, containers: map[int]*container{}, running: map[int]process{}}
}

// kept is the persistent state.
type kept struct {
	Containers map[int]*container `json:"containers"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Containers: s.containers}, s.mu.Unlock
}

// Restore loads the persistent state, as after a power cut: no container runs.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Containers: map[int]*container{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.containers, s.running = restored.Containers, map[int]process{}
	nodes := map[int]string{}

	for vmid, c := range s.containers {
		nodes[vmid] = c.Node
	}

	s.env.Guests.Replace(vmlist.Container, nodes)

	return nil
}

// on calls do with a container of a node under the lock, or returns the error of a missing configuration file.
func (s *Service) on(node string, vmid int, do func(*container) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c, ok := s.containers[vmid]; ok && c.Node == node {
		return do(c)
	}

	return fmt.Errorf("Configuration file 'nodes/%s/lxc/%d.conf' does not exist", node, vmid)
}

// withLock calls do while it holds the lock file of a container's configuration.
func (s *Service) withLock(ctx context.Context, vmid int, limit time.Duration, do func() error) error {
	release, err := s.env.Locks.Exclusive(ctx, flock.ContainerFile(vmid), s.env.Pace.Timeout(limit))
	if err != nil {
		return err
	}
	defer release()

	return do()
}

// isRunning reports whether a container is on. The caller holds the lock.
func (s *Service) isRunning(vmid int) bool {
	_, on := s.running[vmid]
	return on
}

// each calls show for all containers, sorted by ID.
func (s *Service) each(show func(*container)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, vmid := range slices.Sorted(maps.Keys(s.containers)) {
		show(s.containers[vmid])
	}
}

// lockLimit is how long a request waits for the lock file of a configuration.
const lockLimit = pace.ConfigLockTimeout

const (
	basePath = "/nodes/{node}/lxc"
	onePath  = basePath + "/{vmid}"
)

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	return []api.Method{
		api.Get(basePath, s.list),
		api.Post(basePath, s.createContainer),
		api.Get(onePath, s.index),
		api.Delete(onePath, s.destroyContainer),
		api.Get(onePath+"/config", s.getConfig),
		api.Put(onePath+"/config", s.updateContainer),
		api.Put(onePath+"/resize", s.resizeVolume),
		api.Get(onePath+"/status/current", s.currentStatus),
		api.Post(onePath+"/status/start", s.startTask),
		api.Post(onePath+"/status/stop", s.stopTask),
		api.Post(onePath+"/status/shutdown", s.shutdownTask),
		api.Post(onePath+"/status/reboot", s.rebootTask),
		api.Get(onePath+"/feature", s.hasFeature),
		api.Get(onePath+"/snapshot", s.listSnapshots),
		api.Post(onePath+"/snapshot", s.takeSnapshot),
		api.Delete(onePath+"/snapshot/{snapname}", s.deleteSnapshot),
		api.Put(onePath+"/snapshot/{snapname}/config", s.describeSnapshot),
		api.Post(onePath+"/snapshot/{snapname}/rollback", s.rollBack),
	}
}
