package lifecycle

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Storages hold the volumes of VMs.
type Storages interface {
	Owned(node string, vmid int) []string
	Linked(node, id string) bool
	MakeBase(node, id string) (string, error)
	Free(node, id string)
}

// Permissions checks what callers may do, by access control entries and by pools.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error

	Pool(name string) (access.Pool, bool)
	JoinPool(vmid int, pool string)
	ForgetVM(vmid int)
}

// HA is the HA manager, which may have a VM among its resources. It is never called under a lock.
type HA interface {
	Configured(vmid int) bool
	// Forget removes a VM from the resources, and reports whether it was one.
	Forget(vmid int) bool
}

// Power starts VMs.
type Power interface {
	StartVM(w *task.Worker, vmid int, node string) error
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
	HA          HA
	Power       Power
	Machines    machine.Machines
}

// Service creates and destroys VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	statistics  *statistics.Service
	access      settings.Access
	disks       *disks.Service
	storages    Storages
	permissions Permissions
	ha          HA
	power       Power
	machines    machine.Machines
}

// New returns a service for the VMs of a cluster.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, statistics: parts.Statistics, access: parts.Access,
		disks: parts.Disks, storages: parts.Storages, permissions: parts.Permissions, ha: parts.HA, power: parts.Power,
		machines: parts.Machines,
	}
}

// Methods returns the API methods that create and destroy VMs.
func (s *Service) Methods() []api.Method {
	const one = settings.CreatePath + "/{vmid}"

	return []api.Method{
		api.Post(settings.CreatePath, s.createVM),
		api.Delete(one, s.destroyVM),
		api.Post(one+"/template", s.makeTemplate),
	}
}
