// Package config is the configuration files of VMs: where each lies, what it says, its pending changes and its snapshots
// (qemu-server QemuConfig.pm, pve-guest-common AbstractConfig.pm). Whoever changes one holds its lock file, for as long as the
// operation takes; the service's own lock is held while a function of the caller's looks at a configuration or changes it.
// That function may ask the storages, the network, the mappings, the permissions and the processes, but not the HA manager,
// nor this service again.
package config

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Service is the configuration files of a cluster's VMs. It is safe for concurrent use.
type Service struct {
	env *host.Environment

	mu  sync.Mutex
	vms map[int]*VM
}

// New is a cluster without VMs.
func New(env *host.Environment) *Service { return &Service{env: env, vms: map[int]*VM{}} }

// Files is what outlives the process.
type Files struct {
	VMs map[int]*VM `json:"vms"`
}

// Save returns what is kept, to be written before release is called.
func (s *Service) Save() (state Files, release func()) {
	s.mu.Lock()

	return Files{VMs: s.vms}, s.mu.Unlock
}

// Restore takes over what was kept.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := Files{VMs: map[int]*VM{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.vms = restored.VMs

	return nil
}

// WithLock does something while it alone may change a VM's configuration: under its lock file, for which it waits as long as
// a request may.
func (s *Service) WithLock(ctx context.Context, vmid int, do func() error) error {
	return s.withLock(ctx, vmid, pace.ConfigLockTimeout, do)
}

func (s *Service) withLock(ctx context.Context, vmid int, limit time.Duration, do func() error) error {
	release, err := s.env.Locks.Exclusive(ctx, flock.ConfigFile(vmid), s.env.Pace.Timeout(limit))
	if err != nil {
		return err
	}
	defer release()

	return do()
}

// On does something with the VM of a node; where there is none it returns the error of a configuration file that is not there.
// Nothing of the VM may be kept.
func (s *Service) On(node string, vmid int, do func(*VM) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.vms[vmid]; ok && m.Node == node {
		return do(m)
	}

	return notThere(node, vmid)
}

// Anywhere is On for a VM on whatever node it is.
func (s *Service) Anywhere(vmid int, do func(*VM) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.vms[vmid]; ok {
		return do(m)
	}

	return notThere(s.env.Nodes.First(), vmid)
}

func notThere(node string, vmid int) error {
	return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
}

// Each shows all VMs by ID. Nothing of them may be kept.
func (s *Service) Each(show func(*VM)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, vmid := range slices.Sorted(maps.Keys(s.vms)) {
		show(s.vms[vmid])
	}
}

// Node is the one that a VM is on; ok is false for a VM that is not there.
func (s *Service) Node(vmid int) (node string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.vms[vmid]; ok {
		return m.Node, true
	}

	return "", false
}

// TakenError is a VMID that another VM has.
type TakenError struct {
	VMID int
	Node string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("VM %d already exists on node '%s'", e.VMID, e.Node)
}

// Create writes the configuration of a new VM, which is locked for an operation that completes it. It fails with a [TakenError]
// when there is one (pve-guest-common AbstractConfig.pm, create_and_lock_config).
func (s *Service) Create(node string, vmid int, conf *vmconfig.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if other, ok := s.vms[vmid]; ok {
		return &TakenError{VMID: vmid, Node: other.Node}
	}

	s.vms[vmid] = &VM{ID: vmid, Node: node, Config: conf}
	s.env.Changed()

	return nil
}

// Reserve is Create under the lock file of the configuration, for which it waits half as long as a request may.
func (s *Service) Reserve(ctx context.Context, node string, vmid int, conf *vmconfig.Config) error {
	return s.withLock(ctx, vmid, pace.ConfigLockTimeout/2, func() error { return s.Create(node, vmid, conf) })
}

// Delete removes the configuration of a VM.
func (s *Service) Delete(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.vms, vmid)
	s.env.Changed()
}

// Unlock is what root does at the host's console with `qm unlock`: the lock goes, whatever put it there and whether that
// is still at work (qemu-server PVE/CLI/qm.pm, unlock).
func (s *Service) Unlock(ctx context.Context, vmid int) error {
	return s.WithLock(ctx, vmid, func() error {
		return s.Anywhere(vmid, func(m *VM) error {
			m.Config.Delete("lock")
			m.LockUntil = time.Time{}
			s.env.Changed()

			return nil
		})
	})
}
