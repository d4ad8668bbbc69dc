package snapshot

import (
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Storages hold the content of the volumes.
type Storages interface {
	Allocate(id string, r storage.Request) (storage.Volume, error)
	Free(node, id string)

	CanSnapshot(node, id string) (bool, error)
	CheckRollback(node, id, name string) error
	Snapshot(node, id, name string) error
	DropSnapshot(node, id, name string) error
}

// Permissions checks what callers may do.
type Permissions interface {
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error
}

// Power switches VMs off and on.
type Power interface {
	// Cut cuts the power of a VM. The caller holds its configuration's lock file.
	Cut(w *task.Worker, vmid int) error
	// Resume starts a VM. The caller holds its configuration's lock file.
	Resume(w *task.Worker, node string, vmid int) error
	// Start is the method of the API. It starts a task.
	Start(c *api.Call) (any, error)
}

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs     *config.Service
	Processes   *process.Service
	Settings    settings.Reader
	Disks       *disks.Service
	Storages    Storages
	Permissions Permissions
	Power       Power
	Machines    machine.Machines
}

// Service manages the snapshots of a cluster's VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	settings    settings.Reader
	disks       *disks.Service
	storages    Storages
	permissions Permissions
	power       Power
	machines    machine.Machines
}

// New returns a service for the VMs with these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, settings: parts.Settings, disks: parts.Disks,
		storages: parts.Storages, permissions: parts.Permissions, power: parts.Power, machines: parts.Machines,
	}
}

// Methods returns the API methods for snapshots, and the one that reports whether a VM supports them.
func (s *Service) Methods() []api.Method {
	const (
		one = settings.CreatePath + "/{vmid}"
		all = one + "/snapshot"
	)

	return []api.Method{
		api.Get(one+"/feature", s.hasFeature),
		api.Get(all, s.listSnapshots),
		api.Post(all, s.takeSnapshot),
		api.Get(all+"/{snapname}", s.snapshotIndex),
		api.Delete(all+"/{snapname}", s.dropSnapshot),
		api.Get(all+"/{snapname}/config", s.getSnapshot),
		api.Put(all+"/{snapname}/config", s.describeSnapshot),
		api.Post(all+"/{snapname}/rollback", s.rollBack),
	}
}

// fork starts a task on the VM of a call, which must exist.
func (s *Service) fork(c *api.Call, kind string, work func(*task.Worker) error) (any, error) {
	if err := s.configs.On(c.Node, c.VMID, func(*config.VM) error { return nil }); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, kind, strconv.Itoa(c.VMID), c.Identity, c.VMID, work)
}

// change changes the configuration of a VM under its lock file.
func (s *Service) change(w *task.Worker, c *api.Call, do func(*config.VM) error) error {
	return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.configs.On(c.Node, c.VMID, do) })
}
