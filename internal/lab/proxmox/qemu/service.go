// Package qemu is the virtual machines of a cluster (qemu-server). It combines their parts, and returns the VMs for lists and
// status with the data of each part.
//
// Three parts have state, each with its own lock: config has the configuration files, process what runs, statistics what was
// measured. The others are stateless: disks, pending, power, agent, snapshot, clone, migrate and lifecycle serve the API
// methods and do the work of the tasks, each under the lock file of the configurations that it changes.
//
// Locks are taken in this order: the lock file of a configuration, for a clone first that of its source; the lock file of a
// storage for an allocation; the lock of config, under which the storages, the network, the mappings and the permissions may
// be called; the locks of process and statistics, under which nothing is called. The HA manager queries VMs while it holds
// its own lock, so it is called only under lock files.
package qemu

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/agent"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/clone"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/lifecycle"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/migrate"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/pending"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/power"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/snapshot"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
)

// Permissions checks what callers may do, by access control entries and by pools.
type Permissions interface {
	Allowed(identity, path string, privileges ...string) bool

	clone.Permissions
	lifecycle.Permissions
}

// Storages hold the VMs' disks. A volume is identified by its ID.
type Storages interface {
	settings.Storages
	disks.Storages
	lifecycle.Storages
	migrate.Storages
	snapshot.Storages
}

// HA is the HA manager, which manages some of the VMs.
type HA interface {
	Status(vmid int) (group, state string, managed bool)

	lifecycle.HA
	migrate.HA
	power.HA
}

// Parts are the dependencies of the VMs. All are required.
type Parts struct {
	Permissions Permissions
	Storages    Storages
	Network     power.Network
	Mappings    power.Mappings
	HA          HA
	// Machines run the inside of the VMs.
	Machines machine.Machines
}

// Service has the virtual machines of a cluster. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions
	ha          HA
	settings    settings.Reader

	configs    *config.Service
	processes  *process.Service
	statistics *statistics.Service

	disks     *disks.Service
	pending   *pending.Service
	agent     *agent.Service
	power     *power.Service
	snapshots *snapshot.Service
	clones    *clone.Service
	migrate   *migrate.Service
	lifecycle *lifecycle.Service
}

// New returns a cluster without VMs.
func New(env *host.Environment, parts Parts) *Service {
	s := &Service{
		env: env, permissions: parts.Permissions, ha: parts.HA, settings: settings.NewReader(env),
		configs: config.New(env), processes: process.New(),
	}
	s.statistics = statistics.New(env, s.configs)

	access := settings.NewAccess(s.settings, parts.Permissions, parts.Storages)

	s.disks = disks.New(env, disks.Parts{
		Configs: s.configs, Processes: s.processes, Settings: s.settings, Storages: parts.Storages,
		Permissions: parts.Permissions, Machines: parts.Machines,
	})
	s.pending = pending.New(env, pending.Parts{
		Configs: s.configs, Processes: s.processes, Access: access, Disks: s.disks, Storages: parts.Storages,
		Permissions: parts.Permissions,
	})
	s.agent = agent.New(env, s.configs, s.processes, s.settings, parts.Machines)
	s.power = power.New(env, power.Parts{
		Configs: s.configs, Processes: s.processes, Statistics: s.statistics, Settings: s.settings, Disks: s.disks,
		Agent: s.agent, Pending: s.pending, Network: parts.Network, Mappings: parts.Mappings, HA: parts.HA,
		Machines: parts.Machines,
	})
	s.snapshots = snapshot.New(env, snapshot.Parts{
		Configs: s.configs, Processes: s.processes, Settings: s.settings, Disks: s.disks, Storages: parts.Storages,
		Permissions: parts.Permissions, Power: s.power, Machines: parts.Machines,
	})
	s.clones = clone.New(env, clone.Parts{
		Configs: s.configs, Processes: s.processes, Statistics: s.statistics, Access: access, Disks: s.disks,
		Storages: parts.Storages, Permissions: parts.Permissions,
	})
	s.migrate = migrate.New(env, migrate.Parts{
		Configs: s.configs, Processes: s.processes, Settings: s.settings, Storages: parts.Storages, HA: parts.HA,
	})
	s.lifecycle = lifecycle.New(env, lifecycle.Parts{
		Configs: s.configs, Processes: s.processes, Statistics: s.statistics, Access: access, Disks: s.disks,
		Storages: parts.Storages, Permissions: parts.Permissions, HA: parts.HA, Power: s.power, Machines: parts.Machines,
	})

	return s
}

// Methods returns the API methods of all parts.
func (s *Service) Methods() []api.Method {
	own := []api.Method{
		api.Get(settings.CreatePath, s.listVMs),
		api.Get(settings.CreatePath+"/{vmid}", s.vmIndex),
		api.Get(settings.CreatePath+"/{vmid}/status/current", s.currentStatus),
	}

	return slices.Concat(own, s.configs.Methods(), s.pending.Methods(), s.statistics.Methods(), s.power.Methods(), s.disks.Methods(),
		s.clones.Methods(), s.migrate.Methods(), s.lifecycle.Methods(), s.agent.Methods(), s.snapshots.Methods())
}
