package proxmox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// vmStatus is a VM as the status and the lists show it (qemu-server QemuServer.pm, vmstatus).
type vmStatus struct {
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
func (s *Server) power(m *vm) string {
	if m.Running && !s.config.Now().Before(m.Shown) {
		return statusRunning
	}

	return statusStopped
}

func (s *Server) statusOf(m *vm) vmStatus {
	host, _ := s.host(m.Node)
	st := vmStatus{
		VMID: m.ID, Name: m.Config.Get("name"), Status: s.power(m), Lock: m.lock(s.config.Now()),
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
		st.PID, st.Uptime = m.PID, int64(s.config.Now().Sub(m.Since).Seconds())
		// An idle Talos node has about an eighth of a small VM's memory in use.
		st.Mem = st.MaxMem / 8
	}

	return st
}

// bootDiskSize is the size of the first disk in the boot order (QemuServer/Drive.pm, bootdisk_size).
func (s *Server) bootDiskSize(m *vm) uint64 {
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
func (s *Server) currentStatus(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return nil, err
	}

	current := struct {
		vmStatus
		HA    haStatus `json:"ha"`
		Agent int      `json:"agent,omitempty"`
	}{vmStatus: s.statusOf(m)}

	if r, ok := s.state.managed(m.ID); ok {
		current.HA = haStatus{Managed: 1, Group: r.Values["group"], State: r.Service}
	}

	if s.agentEnabled(m) {
		current.Agent = 1
	}

	return current, nil
}

// listVMs answers GET /nodes/{node}/qemu: the VMs of a node that the caller may audit.
func (s *Server) listVMs(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []vmStatus{}

	for _, m := range s.state.sorted() {
		if m.Node != c.node || !s.mayAudit(c.identity, m) {
			continue
		}

		st := s.statusOf(m)
		st.QMPStatus = ""
		list = append(list, st)
	}

	return list, nil
}

func (s *Server) mayAudit(identity string, m *vm) bool {
	return s.state.Access.Allowed(identity, fmt.Sprintf("/vms/%d", m.ID), "VM.Audit")
}

// getConfig answers GET …/config: the configuration with pending changes applied, or the current one alone.
func (s *Server) getConfig(c *call) (any, error) {
	if name := c.params.Get("snapshot"); name != "" {
		return s.getConfigOf(c, name)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return nil, err
	}

	config := m.Config
	if !c.params.Bool("current", false) {
		config = m.Config.WithPending()
	}

	shown := config.Shown()
	shown["digest"] = m.Config.Digest()

	if lock := m.lock(s.config.Now()); lock != "" {
		shown["lock"] = lock
	}

	return s.typedConfig(shown), nil
}

// getConfigOf shows the configuration of a snapshot.
func (s *Server) getConfigOf(c *call, name string) (any, error) {
	if c.params.Bool("current", false) {
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
func (s *Server) getPending(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return nil, err
	}

	keys := append(m.Config.Keys(), sortedNames(m.Config.Pending)...)
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
func (s *Server) vmIndex(*call) (any, error) {
	return folders("subdir", "config", "pending", "status", "unlink", "migrate", "clone", "resize", "move", "agent",
		"cloudinit", "feature"), nil
}
