package accesscontrol

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
)

// PoolNames returns the names of the pools, sorted.
func (s *Service) PoolNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(maps.Keys(s.db.Pools))
}

// Pool returns a copy of a pool.
func (s *Service) Pool(name string) (access.Pool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	pool, ok := s.db.Pools[name]
	if !ok {
		return access.Pool{}, false
	}

	return copyOf(pool), true
}

func copyOf(pool *access.Pool) access.Pool {
	return access.Pool{Comment: pool.Comment, VMs: slices.Clone(pool.VMs), Storages: slices.Clone(pool.Storages)}
}

// PoolOf returns the pool of a VM, or "".
func (s *Service) PoolOf(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.PoolOf(vmid)
}

// JoinPool adds a new VM to a pool.
func (s *Service) JoinPool(vmid int, pool string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.db.JoinPool(vmid, pool)
}

// ForgetVM removes a destroyed VM from its pool and its access control entries.
func (s *Service) ForgetVM(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.db.ForgetVM(vmid)
}

// CreatePool creates an empty pool.
func (s *Service) CreatePool(name, comment string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if _, ok := s.db.Pools[name]; ok {
		return fmt.Errorf("create pool failed: pool '%s' already exists", name)
	}

	if at := strings.LastIndex(name, "/"); at >= 0 && s.db.Pools[name[:at]] == nil {
		return fmt.Errorf("create pool failed: parent '%s' of pool '%s' does not exist", name[:at], name)
	}

	s.db.Pools[name] = &access.Pool{Comment: comment}
	s.db.Reread()
	s.env.Changed()

	return nil
}

// PoolChange is a change of a pool.
type PoolChange struct {
	// Identity of the caller.
	Identity string
	// Comment is the new comment; nil keeps the old one.
	Comment *string
	// VMs and Storages are added, or removed if Remove is set.
	VMs, Storages []string
	Remove        bool
	// Move allows VMs to leave their current pool.
	Move bool
}

// UpdatePool changes a pool. If a part of the change is refused, nothing changes.
func (s *Service) UpdatePool(name string, change PoolChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	pool, ok := s.db.Pools[name]
	if !ok {
		return fmt.Errorf("update pools failed: pool '%s' does not exist", name)
	}

	changed := copyOf(pool)

	if change.Comment != nil {
		changed.Comment = *change.Comment
	}

	for _, text := range change.VMs {
		if err := s.changeVM(name, &changed, text, change); err != nil {
			return err
		}
	}

	for _, id := range change.Storages {
		if err := s.changeStorage(&changed, id, change); err != nil {
			return err
		}
	}

	s.db.Pools[name] = &changed
	s.db.Reread()
	s.env.Changed()

	return nil
}

func (s *Service) changeVM(name string, pool *access.Pool, text string, change PoolChange) error {
	vmid, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("update pools failed: '%s' is no VM ID", text)
	}

	if err := s.db.CheckModify(change.Identity, "/vms/"+text); err != nil {
		return err
	}

	member := slices.Contains(pool.VMs, vmid)
	other := s.db.PoolOf(vmid)

	switch {
	case change.Remove && !member:
		return fmt.Errorf("update pools failed: VM %d is not a pool member", vmid)
	case change.Remove:
		pool.VMs = slices.DeleteFunc(pool.VMs, func(id int) bool { return id == vmid })
		return nil
	case member:
		return fmt.Errorf("update pools failed: VM %d is already a pool member", vmid)
	case other != "" && other != name && !change.Move:
		return fmt.Errorf("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, other)
	case other != "" && other != name:
		if err := s.db.Check(change.Identity, "/pool/"+other, false, "Pool.Allocate"); err != nil {
			return err
		}

		from := s.db.Pools[other]
		from.VMs = slices.DeleteFunc(from.VMs, func(id int) bool { return id == vmid })
	}

	pool.VMs = append(pool.VMs, vmid)
	slices.Sort(pool.VMs)

	return nil
}

func (s *Service) changeStorage(pool *access.Pool, id string, change PoolChange) error {
	if err := s.db.CheckModify(change.Identity, "/storage/"+id); err != nil {
		return err
	}

	member := slices.Contains(pool.Storages, id)

	switch {
	case change.Remove && !member:
		return fmt.Errorf("update pools failed: Storage '%s' is not a pool member", id)
	case change.Remove:
		pool.Storages = slices.DeleteFunc(pool.Storages, func(other string) bool { return other == id })
	case member:
		return fmt.Errorf("update pools failed: Storage '%s' is already a pool member", id)
	default:
		pool.Storages = append(pool.Storages, id)
	}

	return nil
}

// DeletePool removes a pool and its access control entries.
func (s *Service) DeletePool(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.db.Pools, name)
	s.db.RemovePath("/pool/" + name)
	s.env.Changed()
}
