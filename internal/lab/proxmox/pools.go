package proxmox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
)

// poolEntry is a pool in the list of pools.
type poolEntry struct {
	PoolID  string `json:"poolid"`
	Comment string `json:"comment,omitempty"`
	// Members are there where one pool was asked for, an empty list too.
	Members *[]resource `json:"members,omitempty"`
}

// listPools answers GET /pools (pve-manager API2/Pool.pm, index); with a pool's name it shows its members.
func (s *Server) listPools(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if name := c.params.Get("poolid"); name != "" {
		if err := s.state.Access.Check(c.identity, "/pool/"+name, false, "Pool.Audit"); err != nil {
			return nil, err
		}

		entry, err := s.showPool(c.identity, name)
		if err != nil {
			return nil, err
		}

		return []poolEntry{entry}, nil
	}

	list := []poolEntry{}

	for _, name := range sortedNames(s.state.Access.Pools) {
		if s.state.Access.Allowed(c.identity, "/pool/"+name, "Pool.Audit") {
			list = append(list, poolEntry{PoolID: name, Comment: s.state.Access.Pools[name].Comment})
		}
	}

	return list, nil
}

func (s *Server) showPool(identity, name string) (poolEntry, error) {
	pool, ok := s.state.Access.Pools[name]
	if !ok {
		return poolEntry{}, fmt.Errorf("pool '%s' does not exist", name)
	}

	members := []resource{}

	for _, vmid := range pool.VMs {
		if m, ok := s.state.VMs[vmid]; ok {
			members = append(members, s.vmResource(identity, m))
		}
	}

	for _, r := range s.storageResources(access.Root) {
		if slices.Contains(pool.Storages, r.Storage) {
			members = append(members, r)
		}
	}

	return poolEntry{PoolID: name, Comment: pool.Comment, Members: &members}, nil
}

// getPool answers GET /pools/{poolid} with the one entry of GET /pools?poolid= (pve-manager API2/Pool.pm, read_pool).
func (s *Server) getPool(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.showPool(c.identity, c.params.Get("poolid"))
}

// createPool answers POST /pools.
func (s *Server) createPool(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := c.params.Get("poolid")
	if _, ok := s.state.Access.Pools[name]; ok {
		return nil, fmt.Errorf("create pool failed: pool '%s' already exists", name)
	}

	s.state.Access.Pools[name] = &access.Pool{Comment: c.params.Get("comment")}
	s.state.Access.Reread()
	s.changed()

	return nil, nil
}

// updatePool answers PUT /pools and PUT /pools/{poolid}.
func (s *Server) updatePool(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := c.params.Get("poolid")

	pool, ok := s.state.Access.Pools[name]
	if !ok {
		return nil, fmt.Errorf("update pools failed: pool '%s' does not exist", name)
	}

	changed := *pool
	changed.VMs, changed.Storages = slices.Clone(pool.VMs), slices.Clone(pool.Storages)

	if c.params.Has("comment") {
		changed.Comment = c.params.Get("comment")
	}

	for _, text := range c.params.List("vms") {
		if err := s.moveToPool(c, name, &changed, text); err != nil {
			return nil, err
		}
	}

	for _, id := range c.params.List("storage") {
		if err := s.storageToPool(c, &changed, id); err != nil {
			return nil, err
		}
	}

	s.state.Access.Pools[name] = &changed
	s.state.Access.Reread()
	s.changed()

	return nil, nil
}

func (s *Server) moveToPool(c *call, name string, pool *access.Pool, text string) error {
	vmid, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("update pools failed: '%s' is no VM ID", text)
	}

	if err := s.state.Access.CheckModify(c.identity, "/vms/"+text); err != nil {
		return err
	}

	member := slices.Contains(pool.VMs, vmid)
	remove := c.params.Bool("delete", false)
	other := s.state.Access.PoolOf(vmid)

	switch {
	case remove && !member:
		return fmt.Errorf("update pools failed: VM %d is not a pool member", vmid)
	case remove:
		pool.VMs = slices.DeleteFunc(pool.VMs, func(id int) bool { return id == vmid })
		return nil
	case member:
		return fmt.Errorf("update pools failed: VM %d is already a pool member", vmid)
	case other != "" && other != name && !c.params.Bool("allow-move", false):
		return fmt.Errorf("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, other)
	case other != "" && other != name:
		if err := s.state.Access.Check(c.identity, "/pool/"+other, false, "Pool.Allocate"); err != nil {
			return err
		}

		from := s.state.Access.Pools[other]
		from.VMs = slices.DeleteFunc(from.VMs, func(id int) bool { return id == vmid })
	}

	pool.VMs = append(pool.VMs, vmid)
	slices.Sort(pool.VMs)

	return nil
}

func (s *Server) storageToPool(c *call, pool *access.Pool, id string) error {
	if err := s.state.Access.CheckModify(c.identity, "/storage/"+id); err != nil {
		return err
	}

	member := slices.Contains(pool.Storages, id)

	switch remove := c.params.Bool("delete", false); {
	case remove && !member:
		return fmt.Errorf("update pools failed: Storage '%s' is not a pool member", id)
	case remove:
		pool.Storages = slices.DeleteFunc(pool.Storages, func(other string) bool { return other == id })
	case member:
		return fmt.Errorf("update pools failed: Storage '%s' is already a pool member", id)
	default:
		pool.Storages = append(pool.Storages, id)
	}

	return nil
}

// deletePool answers DELETE /pools and DELETE /pools/{poolid}.
func (s *Server) deletePool(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := c.params.Get("poolid")

	pool, ok := s.state.Access.Pools[name]
	if !ok {
		return nil, fmt.Errorf("delete pool failed: pool '%s' does not exist", name)
	}

	for _, vmid := range pool.VMs {
		if _, exists := s.state.VMs[vmid]; exists {
			return nil, fmt.Errorf("delete pool failed: pool '%s' is not empty (contains VM %d)", name, vmid)
		}
	}

	for _, id := range pool.Storages {
		return nil, fmt.Errorf("delete pool failed: pool '%s' is not empty (contains storage '%s')", name, id)
	}

	delete(s.state.Access.Pools, name)
	s.state.Access.RemovePath("/pool/" + name)
	s.changed()

	return nil, nil
}

func poolRows() []row {
	return []row{
		{Verb: http.MethodGet, Path: "/pools", serve: (*Server).listPools},
		{Verb: http.MethodPost, Path: "/pools", serve: (*Server).createPool},
		{Verb: http.MethodPut, Path: "/pools", serve: (*Server).updatePool},
		{Verb: http.MethodDelete, Path: "/pools", serve: (*Server).deletePool},
		{Verb: http.MethodGet, Path: "/pools/{poolid}", serve: (*Server).getPool},
		{Verb: http.MethodPut, Path: "/pools/{poolid}", serve: (*Server).updatePool},
		{Verb: http.MethodDelete, Path: "/pools/{poolid}", serve: (*Server).deletePool},
	}
}
