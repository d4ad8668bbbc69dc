package power

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/agent"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Network has the bridges of the network cards.
type Network interface{ IsBridge(node, name string) bool }

// Mappings resolves the names of devices.
type Mappings interface {
	PCIPaths(name, node string) ([]string, error)
}

// HA is the HA manager, which starts and stops the VMs that it manages. It is called under no lock except a configuration's
// lock file.
type HA interface {
	Managed(vmid int) bool
	RequestStart(c *api.Call) (any, error)
	RequestStop(c *api.Call, seconds int) (any, error)
	// Tend notifies the manager that a VM has changed.
	Tend(vmid int)
}

// Pending applies the changes of a configuration that wait for a start.
type Pending interface{ Apply(m *config.VM) }

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs    *config.Service
	Processes  *process.Service
	Statistics *statistics.Service
	Settings   settings.Reader
	Disks      *disks.Service
	Agent      *agent.Service
	Pending    Pending
	Network    Network
	Mappings   Mappings
	HA         HA
	Machines   machine.Machines
}

// Service controls the power of a cluster's VMs. It is safe for concurrent use.
type Service struct {
	env        *host.Environment
	configs    *config.Service
	processes  *process.Service
	statistics *statistics.Service
	settings   settings.Reader
	disks      *disks.Service
	agent      *agent.Service
	pending    Pending
	network    Network
	mappings   Mappings
	ha         HA
	machines   machine.Machines
}

// New returns a service for the VMs with these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, statistics: parts.Statistics, settings: parts.Settings,
		disks: parts.Disks, agent: parts.Agent, pending: parts.Pending, network: parts.Network, mappings: parts.Mappings,
		ha: parts.HA, machines: parts.Machines,
	}
}

// Methods returns the API methods that change the power of a VM.
func (s *Service) Methods() []api.Method {
	const status = settings.CreatePath + "/{vmid}/status/"

	return []api.Method{
		api.Post(status+"start", s.Start),
		api.Post(status+"stop", s.stopTask),
		api.Post(status+"shutdown", s.shutdownTask),
		api.Post(status+"reboot", s.rebootTask),
	}
}

// Resume starts a VM. The caller holds its configuration's lock file.
func (s *Service) Resume(w *task.Worker, node string, vmid int) error {
	if err := s.configs.On(node, vmid, s.checkStart); err != nil {
		return err
	}

	return s.boot(w, vmid, node)
}
