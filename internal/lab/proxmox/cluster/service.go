// Package cluster serves the API methods about the cluster as a whole: resources, pools, options and status (pve-manager
// API2/Cluster.pm and API2/Pool.pm). Its own state are the options, the metric servers and the backup jobs; everything else comes from other parts.
//
// Its lock guards its state, and is held during permission checks. Other parts are called without it.
package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/lxc"
	"github.com/em-infra/em-infra/internal/lab/proxmox/nodes"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storages"
)

// Users checks what callers may do, and has the pools.
type Users interface {
	Allowed(identity, path string, privileges ...string) bool
	Check(identity, path string, anyOf bool, privileges ...string) error

	PoolNames() []string
	Pool(name string) (access.Pool, bool)
	PoolOf(vmid int) string
	CreatePool(name, comment string) error
	UpdatePool(name string, change accesscontrol.PoolChange) error
	DeletePool(name string)
}

// VMs are the VMs of all nodes.
type VMs interface{ Statuses() []qemu.Status }

// Containers are the containers of all nodes.
type Containers interface{ Statuses() []lxc.Status }

// HA returns the HA manager's state of a VM.
type HA interface{ State(vmid int) string }

// Nodes returns what a caller may see of a node, and its time zone.
type Nodes interface {
	Entry(identity string, host hardware.Host) nodes.Entry
	// Timezone returns the name of a node's time zone.
	Timezone(node string) string
}

// Storages are the storages of all nodes.
type Storages interface{ OnNodes() []storages.OnNode }

// Parts are the dependencies of the service.
type Parts struct {
	Users Users
	VMs   VMs
	// Containers are the containers of all nodes.
	Containers Containers
	HA         HA
	Nodes      Nodes
	Storages   Storages
}

// Service serves the cluster as a whole. It is safe for concurrent use.
type Service struct {
	env   *host.Environment
	parts Parts

	mu      sync.Mutex
	options map[string]string
	metrics map[string]metricServer
	jobs    []backupJob
}

// New returns a cluster with the default options of an installation.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{env: env, parts: parts, options: map[string]string{"keyboard": "en-us"}, metrics: map[string]metricServer{}}
}

// kept is the persistent state.
type kept struct {
	Options map[string]string       `json:"options"`
	Metrics map[string]metricServer `json:"metricServers,omitempty"`
	Jobs    []backupJob             `json:"backupJobs,omitempty"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Options: s.options, Metrics: s.metrics, Jobs: s.jobs}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Options: map[string]string{}, Metrics: map[string]metricServer{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.options, s.metrics, s.jobs = maps.Clone(restored.Options), maps.Clone(restored.Metrics), restored.Jobs

	return nil
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	return slices.Concat([]api.Method{
		api.Get("/cluster/resources", s.listResources),
		api.Get("/cluster/nextid", s.nextID),
		api.Get("/cluster/status", s.clusterStatus),
		api.Get("/cluster/options", s.clusterOptions),
		api.Put("/cluster/options", s.setClusterOptions),
	}, s.poolMethods(), s.metricMethods(), s.backupMethods())
}
