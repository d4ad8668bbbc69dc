package qemu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Status is a VM as the status and the lists show it (qemu-server QemuServer.pm, vmstatus).
type Status struct {
	// Node and ConfiguredName are for those who list VMs of all nodes; a VM without a name in its configuration shows another.
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

// power is whether the VM runs, as far as it shows.
func (s *Service) power(m *vm) string {
	if m.Running && !s.env.Now().Before(m.Shown) {
		return statusRunning
	}

	return statusStopped
}

func (s *Service) statusOf(m *vm) Status {
	host, _ := s.env.Nodes.Host(m.Node)
	st := Status{
		Node: m.Node, ConfiguredName: m.Config.Get("name"),
		VMID: m.ID, Name: m.Config.Get("name"), Status: s.power(m), Lock: m.lock(s.env.Now()),
		Tags: m.Config.Get("tags"), CPUs: min(m.Config.CPUs(), host.Cores), MaxDisk: s.bootDiskSize(m),
		MaxMem: uint64(m.Config.MemoryMiB()) << 20,
	}
	st.QMPStatus = st.Status

	if st.Name == "" {
		st.Name = fmt.Sprintf("VM %d", m.ID)
	}

	if m.Config.Template() {
		st.Template = 1
	}

	if slices.ContainsFunc(m.Config.Keys(), serialKey.MatchString) {
		st.Serial = 1
	}

	if st.Status == statusRunning {
		st.PID, st.Uptime = m.PID, int64(s.env.Now().Sub(m.Since).Seconds())
		// An idle Talos node has about an eighth of a small VM's memory in use.
		st.Mem = st.MaxMem / 8
	}

	return st
}

// bootDiskSize is the size of the first disk in the boot order (QemuServer/Drive.pm, bootdisk_size).
func (s settings) bootDiskSize(m *vm) uint64 {
	for _, key := range m.Config.BootOrder() {
		if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
			continue
		}

		if drive, err := s.parseDrive(key, m.Config.Get(key)); err == nil && !drive.CDROM() {
			return drive.Size()
		}
	}

	return 0
}

// haStatus is what the HA manager makes of a VM (pve-ha-manager HA/Config.pm, get_service_status).
type haStatus struct {
	Managed int    `json:"managed"`
	Group   string `json:"group,omitempty"`
	State   string `json:"state,omitempty"`
}

// currentStatus answers GET …/status/current.
func (s *Service) currentStatus(c *api.Call) (any, error) {
	group, state, managed := s.ha.Status(c.VMID)

	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return nil, err
	}

	current := struct {
		Status
		HA    haStatus `json:"ha"`
		Agent int      `json:"agent,omitempty"`
	}{Status: s.statusOf(m)}

	if managed {
		current.HA = haStatus{Managed: 1, Group: group, State: state}
	}

	if s.agentEnabled(m) {
		current.Agent = 1
	}

	return current, nil
}

// listVMs answers GET /nodes/{node}/qemu: the VMs of a node that the caller may audit.
func (s *Service) listVMs(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []Status{}

	for _, m := range s.sorted() {
		if m.Node != c.Node || !s.mayAudit(c.Identity, m) {
			continue
		}

		st := s.statusOf(m)
		st.QMPStatus = ""
		list = append(list, st)
	}

	return list, nil
}

func (s *Service) mayAudit(identity string, m *vm) bool {
	return s.permissions.Allowed(identity, fmt.Sprintf("/vms/%d", m.ID), "VM.Audit")
}

// getConfig answers GET …/config: the configuration with pending changes applied, or the current one alone.
func (s *Service) getConfig(c *api.Call) (any, error) {
	if name := c.Params.Get("snapshot"); name != "" {
		return s.getConfigOf(c, name)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return nil, err
	}

	config := m.Config
	if !c.Params.Bool("current", false) {
		config = m.Config.WithPending()
	}

	shown := config.Shown()
	shown["digest"] = m.Config.Digest()

	if lock := m.lock(s.env.Now()); lock != "" {
		shown["lock"] = lock
	}

	return s.typedConfig(shown), nil
}

// getConfigOf shows the configuration of a snapshot.
func (s *Service) getConfigOf(c *api.Call, name string) (any, error) {
	if c.Params.Bool("current", false) {
		const both = "cannot use 'snapshot' parameter with 'current'"
		return nil, &schema.ParamError{Errors: map[string]string{"snapshot": both, "current": both}}
	}

	var shown map[string]string

	err := s.onVM(c, func(m *vm) error {
		taken, err := m.snapshot(name)
		if err != nil {
			return err
		}

		shown = taken.shown()
		shown["digest"] = m.Config.Digest()

		return nil
	})
	if err != nil {
		return nil, err
	}

	return s.typedConfig(shown), nil
}

// pendingSetting is one line of the list of pending changes.
type pendingSetting struct {
	Key     string `json:"key"`
	Value   string `json:"value,omitempty"`
	Pending string `json:"pending,omitempty"`
	Delete  int    `json:"delete,omitempty"`
}

// getPending answers GET …/pending.
func (s *Service) getPending(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return nil, err
	}

	keys := append(m.Config.Keys(), slices.Sorted(maps.Keys(m.Config.Pending))...)
	slices.Sort(keys)

	list := []pendingSetting{}

	for _, key := range slices.Compact(keys) {
		line := pendingSetting{Key: key, Value: m.Config.Get(key), Pending: m.Config.Pending[key]}
		if key == "cipassword" {
			line.Value = strings.Repeat("*", 10)
		}

		if slices.Contains(m.Config.Deleted, key) {
			line.Delete = 1
		}

		list = append(list, line)
	}

	return list, nil
}

// vmIndex answers GET /nodes/{node}/qemu/{vmid}: the folders below.
func (s *Service) vmIndex(*api.Call) (any, error) {
	return api.Folders("subdir", "config", "pending", "status", "unlink", "migrate", "clone", "resize", "move", "agent",
		"cloudinit", "feature"), nil
}
