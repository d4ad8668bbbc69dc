package clone

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// Storages are the sources and targets of the disks.
type Storages interface {
	On(id, node string) (storage.Definition, error)
	Volume(node, id string) (storage.Volume, error)
}

// Permissions checks what callers may do, by access control entries and by pools.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
	Pool(name string) (access.Pool, bool)
	JoinPool(vmid int, pool string)
}

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs     *config.Service
	Processes   *process.Service
	Statistics  *statistics.Service
	Access      settings.Access
	Disks       *disks.Service
	Storages    Storages
	Permissions Permissions
}

// Service clones VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	statistics  *statistics.Service
	access      settings.Access
	disks       *disks.Service
	storages    Storages
	permissions Permissions
}

// New returns a service for the VMs with these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, statistics: parts.Statistics,
		access: parts.Access, disks: parts.Disks, storages: parts.Storages, permissions: parts.Permissions,
	}
}

// Methods returns the API methods about clones.
func (s *Service) Methods() []api.Method {
	return []api.Method{api.Post(settings.CreatePath+"/{vmid}/clone", s.cloneVM)}
}
