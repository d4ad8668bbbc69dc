package pending

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Storages hold the removed volumes.
type Storages interface{ Free(node, id string) }

// Permissions checks what callers may do.
type Permissions interface {
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error
}

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs     *config.Service
	Processes   *process.Service
	Access      settings.Access
	Disks       *disks.Service
	Storages    Storages
	Permissions Permissions
}

// Service changes the configurations of VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	access      settings.Access
	disks       *disks.Service
	storages    Storages
	permissions Permissions
}

// New returns a service for these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, access: parts.Access, disks: parts.Disks,
		storages: parts.Storages, permissions: parts.Permissions,
	}
}

// Methods returns the API methods that change a configuration.
func (s *Service) Methods() []api.Method {
	const one = settings.CreatePath + "/{vmid}"

	return []api.Method{
		api.Put(one+"/config", s.updateVM),
		api.Post(one+"/config", s.updateVMAsync),
		api.Put(one+"/unlink", s.unlinkDisks),
	}
}

// unlinkDisks handles PUT …/unlink, another way to remove disks.
func (s *Service) unlinkDisks(c *api.Call) (any, error) {
	list := c.Params.Get("idlist")
	c.Params = c.Params.Without("idlist")
	c.Params["delete"] = schema.Scalar(list)

	return s.updateVM(c)
}
