// Package nodes serves the API methods about the nodes themselves: version, state, clock, settings and devices (pve-manager
// API2/Nodes.pm).
//
// Its lock guards the files of the hosts and the boot time. VMs and permissions are queried without it.
package nodes

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Permissions checks what callers may do.
type Permissions interface {
	Allowed(identity, path string, privileges ...string) bool
}

// VMs are the VMs on the nodes.
type VMs interface {
	// MemoryMiB returns the memory of the running VMs on a node.
	MemoryMiB(node string) int
}

// Service serves the nodes of a cluster. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions
	vms         VMs

	mu        sync.Mutex
	timezones map[string]string
	resolvers map[string]resolver // of hosts whose resolver was changed
	hosts     map[string]string   // the hosts files that were changed
	// repositories are the sources of packages of the hosts that were asked for them.
	repositories map[string][]repositoryFile
	// booted is the boot time of the hosts, shown the certificate of the first one.
	booted time.Time
	shown  []byte
}

// New returns the nodes of a cluster that boots now.
func New(env *host.Environment, permissions Permissions, vms VMs) *Service {
	return &Service{
		env: env, permissions: permissions, vms: vms, timezones: map[string]string{}, resolvers: map[string]resolver{},
		hosts: map[string]string{}, repositories: map[string][]repositoryFile{}, booted: env.Now(),
	}
}

// Boot sets the boot time of the hosts to now.
func (s *Service) Boot() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.booted = s.env.Now()
}

// uptime returns the uptime of the hosts in seconds.
func (s *Service) uptime() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()

	return int64(s.env.Now().Sub(s.booted).Seconds())
}

// kept is the persistent state.
type kept struct {
	Timezones map[string]string   `json:"timezones"`
	Resolvers map[string]resolver `json:"resolvers,omitempty"`
	Hosts     map[string]string   `json:"hostsFiles,omitempty"`

	Repositories map[string][]repositoryFile `json:"repositories,omitempty"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Timezones: s.timezones, Resolvers: s.resolvers, Hosts: s.hosts, Repositories: s.repositories}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{
		Timezones: map[string]string{}, Resolvers: map[string]resolver{}, Hosts: map[string]string{},
		Repositories: map[string][]repositoryFile{},
	}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.timezones, s.resolvers, s.hosts = restored.Timezones, restored.Resolvers, restored.Hosts
	s.repositories = restored.Repositories

	return nil
}

// versionInfo is the response of the version methods (pve-manager PVE/pvecfg.pm.in).
type versionInfo struct {
	Version string `json:"version"`
	Release string `json:"release"`
	RepoID  string `json:"repoid"`
}

func (s *Service) version() versionInfo {
	if s.env.Release == schema.Release84 {
		return versionInfo{Version: "8.4.1", Release: "8.4", RepoID: "2a5fa54a8503f96d"}
	}

	return versionInfo{Version: "9.1.1", Release: "9.1", RepoID: "42db4a6cf33dac83"}
}

// getVersion handles GET /version and GET /nodes/{node}/version.
func (s *Service) getVersion(*api.Call) (any, error) { return s.version(), nil }

// Entry is a node in the lists. Only callers who may audit it get the figures (API2Tools.pm, extract_node_stats).
type Entry struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Node        string   `json:"node"`
	Status      string   `json:"status"`
	Level       *string  `json:"level"`
	Fingerprint string   `json:"ssl_fingerprint,omitempty"`
	Uptime      *int64   `json:"uptime,omitempty"`
	CPU         *float64 `json:"cpu,omitempty"`
	MaxCPU      *int     `json:"maxcpu,omitempty"`
	Mem         *uint64  `json:"mem,omitempty"`
	MaxMem      *uint64  `json:"maxmem,omitempty"`
	Disk        *uint64  `json:"disk,omitempty"`
	MaxDisk     *uint64  `json:"maxdisk,omitempty"`
}

// Figures of a host that are not configurable.
const (
	rootDiskBytes = 96 << 30
	rootDiskUsed  = 6 << 30
	hostMemoryMiB = 2048
)

// Entry returns what a caller may see of a node.
func (s *Service) Entry(identity string, host hardware.Host) Entry {
	n := Entry{ID: "node/" + host.Name, Type: "node", Node: host.Name, Status: "online", Level: new("")}

	if !s.permissions.Allowed(identity, "/nodes/"+host.Name, "Sys.Audit") {
		return n
	}

	uptime := s.uptime()
	maximum, used := s.memory(host)
	n.Uptime, n.CPU, n.MaxCPU = &uptime, new(0.02), &host.Cores
	n.MaxMem, n.Mem = &maximum, &used
	n.MaxDisk, n.Disk = new(uint64(rootDiskBytes)), new(uint64(rootDiskUsed))

	return n
}

// memory returns the host's memory in bytes, and the part that the running VMs and the host itself use.
func (s *Service) memory(host hardware.Host) (total, used uint64) {
	mib := min(hostMemoryMiB, host.MemoryMiB) + s.vms.MemoryMiB(host.Name)

	return uint64(host.MemoryMiB) << 20, uint64(min(mib, host.MemoryMiB)) << 20
}

// listNodes handles GET /nodes.
func (s *Service) listNodes(c *api.Call) (any, error) {
	hosts := s.env.Nodes.Hosts()

	list := make([]Entry, len(hosts))
	for i, host := range hosts {
		list[i] = s.Entry(c.Identity, host)
		list[i].Fingerprint = s.fingerprintOf(host.Name)
	}

	return list, nil
}

// nodeIndex handles GET /nodes/{node}. It returns the paths below.
func (s *Service) nodeIndex(*api.Call) (any, error) {
	return api.Folders("name", "qemu", "storage", "network", "tasks", "hardware", "status", "time", "version",
		"query-url-metadata", "dns", "hosts", "apt", "report"), nil
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	return []api.Method{
		api.Get("/version", s.getVersion),
		api.Get("/nodes", s.listNodes),
		api.Get("/nodes/{node}", s.nodeIndex),
		api.Get("/nodes/{node}/version", s.getVersion),
		api.Get("/nodes/{node}/status", s.getNodeStatus),
		api.Get("/nodes/{node}/time", s.getTime),
		api.Put("/nodes/{node}/time", s.setTime),
		api.Get("/nodes/{node}/dns", s.getDNS),
		api.Put("/nodes/{node}/dns", s.setDNS),
		api.Get("/nodes/{node}/hosts", s.getHostsFile),
		api.Post("/nodes/{node}/hosts", s.setHostsFile),
		api.Get("/nodes/{node}/apt/repositories", s.listRepositories),
		api.Put("/nodes/{node}/apt/repositories", s.addRepository),
		api.Post("/nodes/{node}/apt/repositories", s.changeRepository),
		api.Get("/nodes/{node}/apt/versions", s.listPackages),
		api.Get("/nodes/{node}/report", s.getReport),
		api.Get("/nodes/{node}/hardware/pci", s.listPCI),
		api.Get("/nodes/{node}/hardware/usb", s.listUSB),
	}
}
