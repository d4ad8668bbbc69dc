package lxc

import (
	"cmp"
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Status is a container in the status and in lists (pve-container LXC.pm, vmstatus).
type Status struct {
	// Node is for lists of all nodes.
	Node string `json:"-"`

	VMID      int     `json:"vmid"`
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Status    string  `json:"status"`
	Lock      string  `json:"lock,omitempty"`
	Tags      string  `json:"tags,omitempty"`
	Template  int     `json:"template,omitempty"`
	PID       int     `json:"pid,omitempty"`
	Uptime    int64   `json:"uptime"`
	CPUs      int     `json:"cpus"`
	CPU       float64 `json:"cpu"`
	MaxMem    uint64  `json:"maxmem"`
	Mem       uint64  `json:"mem"`
	MaxSwap   uint64  `json:"maxswap"`
	Swap      uint64  `json:"swap"`
	MaxDisk   uint64  `json:"maxdisk"`
	Disk      uint64  `json:"disk"`
	DiskRead  uint64  `json:"diskread"`
	DiskWrite uint64  `json:"diskwrite"`
	NetIn     uint64  `json:"netin"`
	NetOut    uint64  `json:"netout"`
}

// usualRoot is the size of a root without a size.
const usualRoot = 4 << 30

// statusOf returns the status of a container. The caller holds the lock.
func (s *Service) statusOf(ct *container) Status {
	const usualMemory = 512

	host, _ := s.env.Nodes.Host(ct.Node)
	st := Status{
		Node: ct.Node, VMID: ct.ID, Name: cmp.Or(ct.Config.Get("hostname"), fmt.Sprintf("CT%d", ct.ID)), Type: "lxc", Status: "stopped",
		Lock: ct.Config.Lock(), Tags: ct.Config.Get("tags"), Template: api.Flag(ct.Config.Template()),
		CPUs: cmp.Or(ct.Config.Int("cores", 0), host.Cores), MaxMem: uint64(ct.Config.Int("memory", usualMemory)) << 20,
		MaxSwap: uint64(ct.Config.Int("swap", 0)) << 20, MaxDisk: usualRoot,
	}

	if root, err := schema.ParseProperties(s.fields("rootfs"), ct.Config.Get("rootfs")); err == nil {
		if size, ok := schema.ParseSize(root["size"]); ok {
			st.MaxDisk = size
		}
	}

	if p, on := s.running[ct.ID]; on {
		st.Status, st.PID, st.Uptime = "running", p.pid, int64(s.env.Now().Sub(p.since).Seconds())
		// A small service uses about an eighth of its memory.
		st.Mem = st.MaxMem / 8
	}

	return st
}

// Statuses returns the status of the containers of all nodes, sorted by ID.
func (s *Service) Statuses() []Status {
	list := []Status{}
	s.each(func(ct *container) { list = append(list, s.statusOf(ct)) })

	return list
}

// currentStatus handles GET …/status/current. Containers are not managed by the HA manager of the lab.
func (s *Service) currentStatus(c *api.Call) (any, error) {
	current := struct {
		Status
		HA struct {
			Managed int `json:"managed"`
		} `json:"ha"`
	}{}

	err := s.on(c.Node, c.VMID, func(ct *container) error {
		current.Status = s.statusOf(ct)
		return nil
	})
	if err != nil {
		return nil, err
	}

	return current, nil
}

// list handles GET /nodes/{node}/lxc. It returns the containers of a node that the caller may audit.
func (s *Service) list(c *api.Call) (any, error) {
	list := []Status{}

	for _, st := range s.Statuses() {
		if st.Node == c.Node && s.parts.Permissions.Allowed(c.Identity, fmt.Sprintf("/vms/%d", st.VMID), "VM.Audit") {
			list = append(list, st)
		}
	}

	return list, nil
}

// index handles GET /nodes/{node}/lxc/{vmid}. It returns the paths below.
func (s *Service) index(c *api.Call) (any, error) {
	err := s.on(c.Node, c.VMID, func(*container) error { return nil })
	if err != nil {
		return nil, err
	}

	return api.Folders("subdir", "config", "status", "feature", "snapshot", "resize"), nil
}
