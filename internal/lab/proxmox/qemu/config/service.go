// Package config has the configuration files of VMs: node, settings, pending changes and snapshots (qemu-server
// QemuConfig.pm, pve-guest-common AbstractConfig.pm). An operation that changes a configuration holds its lock file for its
// whole duration. The service's own lock is held while a caller's function reads or changes a configuration. Such a function
// may call the storages, the network, the mappings, the permissions and the processes, but neither the HA manager nor this
// service.
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
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// Service has the configuration files of a cluster's VMs. It is safe for concurrent use.
type Service struct {
	env *host.Environment

	mu  sync.Mutex
	vms map[int]*VM
}

// New returns a cluster without VMs.
func New(env *host.Environment) *Service { return &Service{env: env, vms: map[int]*VM{}} }

// Files is the persistent state.
type Files struct {
	VMs map[int]*VM `json:"vms"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state Files, release func()) {
	s.mu.Lock()

	return Files{VMs: s.vms}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := Files{VMs: map[int]*VM{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.vms = restored.VMs
	nodes := map[int]string{}

	for vmid, m := range s.vms {
		nodes[vmid] = m.Node
	}

	s.env.Guests.Replace(vmlist.VM, nodes)

	return nil
}

// WithLock calls do while it holds the lock file of a VM's configuration. It waits for the lock as long as a request may.
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

// On calls do with a VM of a node, or returns the error of a missing configuration file. do must not retain anything of the
// VM.
func (s *Service) On(node string, vmid int, do func(*VM) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.vms[vmid]; ok && m.Node == node {
		return do(m)
	}

	return notThere(node, vmid)
}

// Anywhere is On for a VM on any node.
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

// Each calls show for all VMs, sorted by ID. show must not retain anything of a VM.
func (s *Service) Each(show func(*VM)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, vmid := range slices.Sorted(maps.Keys(s.vms)) {
		show(s.vms[vmid])
	}
}

// Node returns the node of a VM; ok is false if the VM does not exist.
func (s *Service) Node(vmid int) (node string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.vms[vmid]; ok {
		return m.Node, true
	}

	return "", false
}

// TakenError is returned for a VMID that is in use.
type TakenError = vmlist.TakenError

// Create writes the configuration of a new VM. It stays locked until an operation completes it. The error is a [TakenError]
// if the VMID is in use (pve-guest-common AbstractConfig.pm, create_and_lock_config).
func (s *Service) Create(node string, vmid int, conf *vmconfig.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if err := s.env.Guests.Add(vmid, vmlist.Guest{Kind: vmlist.VM, Node: node}); err != nil {
		return err
	}

	s.vms[vmid] = &VM{ID: vmid, Node: node, Config: conf}
	s.env.Changed()

	return nil
}

// Reserve calls Create under the lock file of the configuration. It waits for the lock half as long as a request may.
func (s *Service) Reserve(ctx context.Context, node string, vmid int, conf *vmconfig.Config) error {
	return s.withLock(ctx, vmid, pace.ConfigLockTimeout/2, func() error { return s.Create(node, vmid, conf) })
}

// Delete removes the configuration of a VM.
func (s *Service) Delete(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.vms, vmid)
	s.env.Guests.Remove(vmid)
	s.env.Changed()
}

// Unlock does what root does at the host's console with `qm unlock`: it removes the lock, even if its operation is still
// running (qemu-server PVE/CLI/qm.pm, unlock).
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
