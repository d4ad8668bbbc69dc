// Package qemu is the virtual machines of a cluster: their configurations and power, the methods of the API about them, and
// the workers that make, copy, change, start, stop, move and destroy them (qemu-server).
//
// There are two kinds of locks. The lock of one configuration, a file of the host, is held for as long as an operation takes;
// it is taken before any other, that of a second VM only while a clone holds its source's, and that of a storage beneath it.
// The service's own lock guards the state. It is held for moments only, while the storages, the network, the mappings and
// the permissions are asked, each of which has a lock of its own that is taken beneath it. The HA manager, which asks where
// VMs are while it holds its own lock, is never called under this one.
package qemu

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Permissions are what callers may do, and the pools that grant them more.
type Permissions interface {
	Allowed(identity, path string, privileges ...string) bool
	Check(identity, path string, anyOf bool, privileges ...string) error
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error

	Pool(name string) (access.Pool, bool)
	JoinPool(vmid int, pool string)
	ForgetVM(vmid int)
}

// Storages are what the VMs' disks are made of. A volume is named by its ID.
type Storages interface {
	// On is the definition of a storage that a node has.
	On(id, node string) (storage.Definition, error)
	// Lock takes the lock under which volumes of a storage are allocated.
	Lock(ctx context.Context, info task.Info, node, id string) (release func(), err error)

	Volume(node, id string) (storage.Volume, error)
	Owned(node string, vmid int) []string
	Linked(node, id string) bool
	CheckVolume(identity, node string, vmid int, volume string) error

	Allocate(id string, r storage.Request) (storage.Volume, error)
	Copy(node, source, to string, r storage.Request) (storage.Volume, error)
	Link(node, source, to string, r storage.Request) (storage.Volume, error)
	MakeBase(node, id string) (string, error)
	MoveNode(from, to, id string) error
	Resize(node, id string, bytes uint64) error
	Free(node, id string)

	CanSnapshot(node, id string) (bool, error)
	CheckRollback(node, id, name string) error
	Snapshot(node, id, name string) error
	DropSnapshot(node, id, name string) error
}

// Network is what cards are plugged into.
type Network interface{ IsBridge(node, name string) bool }

// Mappings are the names of devices.
type Mappings interface {
	PCIPaths(name, node string) ([]string, error)
}

// HA is the HA manager, which looks after some of the VMs. It is never called while the service is locked.
type HA interface {
	Configured(vmid int) bool
	Managed(vmid int) bool
	Status(vmid int) (group, state string, managed bool)

	RequestStart(c *api.Call) (any, error)
	RequestStop(c *api.Call, seconds int) (any, error)
	RequestMove(c *api.Call) (any, error)
	// Tend tells the manager that a VM has changed, Forget that it is gone.
	Tend(vmid int)
	Forget(vmid int) bool
}

// Parts are what VMs are made of. All of them are required.
type Parts struct {
	Permissions Permissions
	Storages    Storages
	Network     Network
	Mappings    Mappings
	HA          HA
	// Machines are what runs inside the VMs.
	Machines Machines
}

// Service is the virtual machines of a cluster. It is safe for concurrent use.
type Service struct {
	settings
	guard

	env         *host.Environment
	permissions Permissions
	storages    Storages
	network     Network
	mappings    Mappings
	ha          HA
	machines    Machines

	mu         sync.Mutex
	vms        map[int]*vm
	statistics map[int]*statistics
}

// New is a cluster without VMs.
func New(env *host.Environment, parts Parts) *Service {
	read := settings{env: env}

	return &Service{
		settings: read, guard: guard{settings: read, permissions: parts.Permissions, storages: parts.Storages},
		env: env, permissions: parts.Permissions, storages: parts.Storages, network: parts.Network,
		mappings: parts.Mappings, ha: parts.HA, machines: parts.Machines,
		vms: map[int]*vm{}, statistics: map[int]*statistics{},
	}
}

// kept is what outlives the process.
type kept struct {
	VMs        map[int]*vm         `json:"vms"`
	Statistics map[int]*statistics `json:"statistics,omitempty"`
}

// Save returns what is kept, to be written before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{VMs: s.vms, Statistics: s.statistics}, s.mu.Unlock
}

// Restore takes over what was kept as after a power cut at a time: no VM runs.
func (s *Service) Restore(state []byte, at time.Time) error {
	restored := kept{VMs: map[int]*vm{}, Statistics: map[int]*statistics{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	for _, m := range restored.VMs {
		m.Running, m.PID, m.PCI, m.Memory, m.Since = false, 0, nil, 0, time.Time{}
	}

	for _, measured := range restored.Statistics {
		measured.stopped(at)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.vms, s.statistics = restored.VMs, restored.Statistics

	return nil
}

// locked does something with the state.
func (s *Service) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return do()
}

// Methods are those of the API that the service answers.
func (s *Service) Methods() []api.Method {
	return slices.Concat(s.vmMethods(), s.agentMethods(), s.snapshotMethods())
}

func (s *Service) vmMethods() []api.Method {
	const (
		list = createPath
		one  = list + "/{vmid}"
	)

	return []api.Method{
		api.Get(list, s.listVMs),
		api.Post(list, s.createVM),
		api.Get(one, s.vmIndex),
		api.Delete(one, s.destroyVM),
		api.Get(one+"/config", s.getConfig),
		api.Put(one+"/config", s.updateVM),
		api.Post(one+"/config", s.updateVMAsync),
		api.Get(one+"/pending", s.getPending),
		api.Get(one+"/rrddata", s.rrdData),
		api.Get(one+"/status/current", s.currentStatus),
		api.Post(one+"/status/start", s.startTask),
		api.Post(one+"/status/stop", s.stopTask),
		api.Post(one+"/status/shutdown", s.shutdownTask),
		api.Post(one+"/status/reboot", s.rebootTask),
		api.Post(one+"/clone", s.cloneVM),
		api.Put(one+"/resize", s.resizeDisk),
		api.Post(one+"/move_disk", s.moveDisk),
		api.Post(one+"/migrate", s.migrateVM),
		api.Put(one+"/unlink", s.unlinkDisks),
		api.Post(one+"/template", s.makeTemplate),
	}
}

func (s *Service) agentMethods() []api.Method {
	const agent = createPath + "/{vmid}/agent/"

	methods := []api.Method{api.Post(agent+"ping", s.agentCommand("ping"))}
	for _, command := range []string{"get-host-name", "get-osinfo", "network-get-interfaces"} {
		methods = append(methods, api.Get(agent+command, s.agentCommand(command)))
	}

	return methods
}
