package proxmox

import (
	"fmt"
	"net/http"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// versionInfo is what the version methods return (pve-manager PVE/pvecfg.pm.in).
type versionInfo struct {
	Version string `json:"version"`
	Release string `json:"release"`
	RepoID  string `json:"repoid"`
}

func (s *Server) version() versionInfo {
	if s.config.Release == schema.Release84 {
		return versionInfo{Version: "8.4.1", Release: "8.4", RepoID: "2a5fa54a8503f96d"}
	}

	return versionInfo{Version: "9.1.1", Release: "9.1", RepoID: "42db4a6cf33dac83"}
}

// getVersion answers GET /version and GET /nodes/{node}/version.
func (s *Server) getVersion(*call) (any, error) { return s.version(), nil }

// nodeEntry is a node as the lists show it; figures are for those who may audit it (API2Tools.pm,
// extract_node_stats).
type nodeEntry struct {
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

// Figures of a host that nobody asked for.
const (
	rootDiskBytes = 96 << 30
	rootDiskUsed  = 6 << 30
	hostMemoryMiB = 2048
)

func (s *Server) nodeEntry(identity string, host Host) nodeEntry {
	n := nodeEntry{ID: "node/" + host.Name, Type: "node", Node: host.Name, Status: "online", Level: new("")}

	if !s.state.Access.Allowed(identity, "/nodes/"+host.Name, "Sys.Audit") {
		return n
	}

	uptime := int64(s.config.Now().Sub(s.booted).Seconds())
	maximum, used := s.memory(host)
	n.Uptime, n.CPU, n.MaxCPU = &uptime, new(0.02), &host.Cores
	n.MaxMem, n.Mem = &maximum, &used
	n.MaxDisk, n.Disk = new(uint64(rootDiskBytes)), new(uint64(rootDiskUsed))

	return n
}

// memory is the host's memory in bytes, and what the running VMs and the host itself use of it.
func (s *Server) memory(host Host) (total, used uint64) {
	mib := min(hostMemoryMiB, host.MemoryMiB)

	for _, m := range s.state.VMs {
		if m.Node == host.Name {
			mib += m.Memory
		}
	}

	return uint64(host.MemoryMiB) << 20, uint64(min(mib, host.MemoryMiB)) << 20
}

// listNodes answers GET /nodes.
func (s *Server) listNodes(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := make([]nodeEntry, len(s.hosts()))
	for i, host := range s.hosts() {
		list[i] = s.nodeEntry(c.identity, host)
		list[i].Fingerprint = s.fingerprintOf(host.Name)
	}

	return list, nil
}

// nodeIndex answers GET /nodes/{node}: the folders below.
func (s *Server) nodeIndex(*call) (any, error) {
	return folders("name", "qemu", "storage", "network", "tasks", "hardware", "status", "time", "version",
		"query-url-metadata"), nil
}

// nodeStatus is the state of a host (API2/Nodes.pm, status).
type nodeStatus struct {
	Uptime     int64     `json:"uptime"`
	LoadAvg    []string  `json:"loadavg"`
	KVersion   string    `json:"kversion"`
	CPU        float64   `json:"cpu"`
	Wait       float64   `json:"wait"`
	PVEVersion string    `json:"pveversion"`
	CPUInfo    cpuInfo   `json:"cpuinfo"`
	Memory     hostUsage `json:"memory"`
	Swap       usage     `json:"swap"`
	KSM        sharedMem `json:"ksm"`
	RootFS     diskUsage `json:"rootfs"`
	Kernel     kernel    `json:"current-kernel"`
	Boot       bootInfo  `json:"boot-info"`
}

type cpuInfo struct {
	Cores   int    `json:"cores"`
	CPUs    int    `json:"cpus"`
	Sockets int    `json:"sockets"`
	Model   string `json:"model"`
	Flags   string `json:"flags"`
	HVM     string `json:"hvm"`
	MHz     string `json:"mhz"`
	UserHz  int    `json:"user_hz"`
}

type usage struct {
	Total uint64 `json:"total"`
	Used  uint64 `json:"used"`
	Free  uint64 `json:"free"`
}

// hostUsage counts what is free and what could be freed.
type hostUsage struct {
	usage
	Available uint64 `json:"available"`
}

type sharedMem struct {
	Shared uint64 `json:"shared"`
}

type diskUsage struct {
	usage
	Available uint64 `json:"avail"`
}

type kernel struct {
	System  string `json:"sysname"`
	Release string `json:"release"`
	Version string `json:"version"`
	Machine string `json:"machine"`
}

type bootInfo struct {
	Mode       string `json:"mode"`
	SecureBoot int    `json:"secureboot"`
}

// getNodeStatus answers GET /nodes/{node}/status.
func (s *Server) getNodeStatus(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	host, _ := s.host(c.node)
	total, used := s.memory(host)
	running := kernel{System: "Linux", Release: "6.8.12-9-pve", Version: "#1 SMP PREEMPT_DYNAMIC", Machine: "x86_64"}

	if s.config.Release != schema.Release84 {
		running.Release = "6.17.2-1-pve"
	}

	v := s.version()

	return nodeStatus{
		Uptime:  int64(s.config.Now().Sub(s.booted).Seconds()),
		LoadAvg: []string{"0.08", "0.12", "0.10"}, CPU: 0.02,
		KVersion:   fmt.Sprintf("%s %s %s", running.System, running.Release, running.Version),
		PVEVersion: fmt.Sprintf("pve-manager/%s/%s", v.Version, v.RepoID),
		CPUInfo: cpuInfo{
			Cores: max(1, host.Cores/2), CPUs: host.Cores, Sockets: 1, Model: host.CPUModel, Flags: "vmx svm aes avx2",
			HVM: "1", MHz: "2500.000", UserHz: 100,
		},
		Memory: hostUsage{usage: usage{Total: total, Used: used, Free: total - used}, Available: total - used},
		RootFS: diskUsage{
			usage:     usage{Total: rootDiskBytes, Used: rootDiskUsed, Free: rootDiskBytes - rootDiskUsed},
			Available: rootDiskBytes - rootDiskUsed,
		},
		Kernel: running, Boot: bootInfo{Mode: "efi"},
	}, nil
}

// hostTime is the clock of a host.
type hostTime struct {
	Time      int64  `json:"time"`
	LocalTime int64  `json:"localtime"`
	Timezone  string `json:"timezone"`
}

// getTime answers GET /nodes/{node}/time.
func (s *Server) getTime(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.config.Now().Unix()

	zone := s.state.Timezones[c.node]
	if zone == "" {
		zone = "UTC"
	}

	return hostTime{Time: now, LocalTime: now, Timezone: zone}, nil
}

// setTime answers PUT /nodes/{node}/time. The lab's hosts remember the zone but live in UTC.
func (s *Server) setTime(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state.Timezones[c.node] = c.params.Get("timezone")
	s.changed()

	return nil, nil
}

func nodeRows() []row {
	return []row{
		{Verb: http.MethodGet, Path: "/version", serve: (*Server).getVersion},
		{Verb: http.MethodGet, Path: "/nodes", serve: (*Server).listNodes},
		{Verb: http.MethodGet, Path: "/nodes/{node}", serve: (*Server).nodeIndex},
		{Verb: http.MethodGet, Path: "/nodes/{node}/version", serve: (*Server).getVersion},
		{Verb: http.MethodGet, Path: "/nodes/{node}/status", serve: (*Server).getNodeStatus},
		{Verb: http.MethodGet, Path: "/nodes/{node}/time", serve: (*Server).getTime},
		{Verb: http.MethodPut, Path: "/nodes/{node}/time", serve: (*Server).setTime},
		{Verb: http.MethodGet, Path: "/nodes/{node}/hardware/pci", serve: (*Server).listPCI},
		{Verb: http.MethodGet, Path: "/nodes/{node}/hardware/usb", serve: (*Server).listUSB},
	}
}
