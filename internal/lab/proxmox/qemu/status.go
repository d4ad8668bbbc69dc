package qemu

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Status is a VM in the status and in lists (qemu-server QemuServer.pm, vmstatus).
type Status struct {
	// Node and ConfiguredName are for lists of all nodes. Without a configured name a VM shows a default name.
	Node           string `json:"-"`
	ConfiguredName string `json:"-"`

	VMID      int     `json:"vmid"`
	Name      string  `json:"name"`
	Status    string  `json:"status"`
	QMPStatus string  `json:"qmpstatus,omitempty"`
	Lock      string  `json:"lock,omitempty"`
	Tags      string  `json:"tags,omitempty"`
	Template  int     `json:"template,omitempty"`
	PID       int     `json:"pid,omitempty"`
	Uptime    int64   `json:"uptime"`
	CPUs      int     `json:"cpus"`
	CPU       float64 `json:"cpu"`
	MaxMem    uint64  `json:"maxmem"`
	Mem       uint64  `json:"mem"`
	MaxDisk   uint64  `json:"maxdisk"`
	Disk      uint64  `json:"disk"`
	DiskRead  uint64  `json:"diskread"`
	DiskWrite uint64  `json:"diskwrite"`
	NetIn     uint64  `json:"netin"`
	NetOut    uint64  `json:"netout"`
	Serial    int     `json:"serial,omitempty"`
}

const (
	statusRunning = "running"
	statusStopped = "stopped"
)

func (s *Service) statusOf(m *config.VM) Status {
	now := s.env.Now()
	node, _ := s.env.Nodes.Host(m.Node)
	running, isRunning := s.processes.Status(m.ID, now)
	st := Status{
		Node: m.Node, ConfiguredName: m.Config.Get("name"),
		VMID: m.ID, Name: m.Config.Get("name"), Status: statusStopped, Lock: m.Lock(now),
		Tags: m.Config.Get("tags"), CPUs: min(m.Config.CPUs(), node.Cores), MaxDisk: s.bootDiskSize(m),
		MaxMem: uint64(m.Config.MemoryMiB()) << 20,
	}

	if st.Name == "" {
		st.Name = fmt.Sprintf("VM %d", m.ID)
	}

	if m.Config.Template() {
		st.Template = 1
	}

	if slices.ContainsFunc(m.Config.Keys(), settings.IsSerial) {
		st.Serial = 1
	}

	if isRunning {
		st.Status, st.PID, st.Uptime = statusRunning, running.PID, int64(now.Sub(running.Since).Seconds())
		// An idle Talos node uses about an eighth of a small VM's memory.
		st.Mem = st.MaxMem / 8
	}

	st.QMPStatus = st.Status

	return st
}

// bootDiskSize returns the size of the first disk in the boot order (QemuServer/Drive.pm, bootdisk_size).
func (s *Service) bootDiskSize(m *config.VM) uint64 {
	for _, key := range m.Config.BootOrder() {
		if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
			continue
		}

		if drive, err := s.settings.ParseDrive(key, m.Config.Get(key)); err == nil && !drive.CDROM() {
			return drive.Size()
		}
	}

	return 0
}

// haStatus is the HA manager's status of a VM (pve-ha-manager HA/Config.pm, get_service_status).
type haStatus struct {
	Managed int    `json:"managed"`
	Group   string `json:"group,omitempty"`
	State   string `json:"state,omitempty"`
}

// currentStatus handles GET …/status/current.
func (s *Service) currentStatus(c *api.Call) (any, error) {
	group, state, managed := s.ha.Status(c.VMID)

	current := struct {
		Status
		HA    haStatus `json:"ha"`
		Agent int      `json:"agent,omitempty"`
	}{}

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		current.Status = s.statusOf(m)
		current.Agent = api.Flag(s.settings.AgentEnabled(m.Config))

		return nil
	})
	if err != nil {
		return nil, err
	}

	if managed {
		current.HA = haStatus{Managed: 1, Group: group, State: state}
	}

	return current, nil
}

// listVMs handles GET /nodes/{node}/qemu. It returns the VMs of a node that the caller may audit.
func (s *Service) listVMs(c *api.Call) (any, error) {
	list := []Status{}

	s.configs.Each(func(m *config.VM) {
		if m.Node != c.Node || !s.mayAudit(c.Identity, m) {
			return
		}

		st := s.statusOf(m)
		st.QMPStatus = ""
		list = append(list, st)
	})

	return list, nil
}

func (s *Service) mayAudit(identity string, m *config.VM) bool {
	return s.permissions.Allowed(identity, fmt.Sprintf("/vms/%d", m.ID), "VM.Audit")
}

// vmIndex handles GET /nodes/{node}/qemu/{vmid}. It returns the paths below.
func (s *Service) vmIndex(*api.Call) (any, error) {
	return api.Folders("subdir", "config", "pending", "status", "unlink", "migrate", "clone", "resize", "move", "agent",
		"cloudinit", "feature"), nil
}
