package migrate

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// Storages hold the disks of VMs.
type Storages interface {
	On(id, node string) (storage.Definition, error)
	Volume(node, id string) (storage.Volume, error)
	Copy(node, source, to string, r storage.Request) (storage.Volume, error)
	MoveNode(from, to, id string) error
	Free(node, id string)
}

// HA is the HA manager, which migrates the VMs that it manages. It is never called under a lock.
type HA interface {
	Managed(vmid int) bool
	RequestMove(c *api.Call) (any, error)
}

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs   *config.Service
	Processes *process.Service
	Settings  settings.Reader
	Storages  Storages
	HA        HA
}

// Service migrates VMs. It is safe for concurrent use.
type Service struct {
	env       *host.Environment
	configs   *config.Service
	processes *process.Service
	settings  settings.Reader
	storages  Storages
	ha        HA
}

// New returns a service for the VMs with these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, settings: parts.Settings, storages: parts.Storages,
		ha: parts.HA,
	}
}

// Methods returns the API methods about migration.
func (s *Service) Methods() []api.Method {
	return []api.Method{api.Post(settings.CreatePath+"/{vmid}/migrate", s.migrateVM)}
}
