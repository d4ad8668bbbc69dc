package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// poolEntry is a pool in the list of pools.
type poolEntry struct {
	PoolID  string `json:"poolid"`
	Comment string `json:"comment,omitempty"`
	// Members are set in the response for a single pool, even if empty.
	Members *[]resource `json:"members,omitempty"`
}

// listPools handles GET /pools (pve-manager API2/Pool.pm, index). With a pool's name it returns its members.
func (s *Service) listPools(c *api.Call) (any, error) {
	users := s.parts.Users

	if name := c.Params.Get("poolid"); name != "" {
		if err := users.Check(c.Identity, "/pool/"+name, false, "Pool.Audit"); err != nil {
			return nil, err
		}

		entry, err := s.showPool(c.Identity, name)
		if err != nil {
			return nil, err
		}

		return []poolEntry{entry}, nil
	}

	list := []poolEntry{}

	for _, name := range users.PoolNames() {
		if pool, ok := users.Pool(name); ok && users.Allowed(c.Identity, "/pool/"+name, "Pool.Audit") {
			list = append(list, poolEntry{PoolID: name, Comment: pool.Comment})
		}
	}

	return list, nil
}

func (s *Service) showPool(identity, name string) (poolEntry, error) {
	pool, ok := s.parts.Users.Pool(name)
	if !ok {
		return poolEntry{}, fmt.Errorf("pool '%s' does not exist", name)
	}

	members := []resource{}

	for _, vm := range s.parts.VMs.Statuses() {
		if slices.Contains(pool.VMs, vm.VMID) {
			members = append(members, s.vmResource(identity, vm))
		}
	}

	for _, r := range s.storageResources(access.Root) {
		if slices.Contains(pool.Storages, r.Storage) {
			members = append(members, r)
		}
	}

	return poolEntry{PoolID: name, Comment: pool.Comment, Members: &members}, nil
}

// getPool handles GET /pools/{poolid} with the one entry of GET /pools?poolid= (pve-manager API2/Pool.pm, read_pool).
func (s *Service) getPool(c *api.Call) (any, error) {
	return s.showPool(c.Identity, c.Params.Get("poolid"))
}

// createPool handles POST /pools.
func (s *Service) createPool(c *api.Call) (any, error) {
	return nil, s.parts.Users.CreatePool(c.Params.Get("poolid"), c.Params.Get("comment"))
}

// updatePool handles PUT /pools and PUT /pools/{poolid}.
func (s *Service) updatePool(c *api.Call) (any, error) {
	change := accesscontrol.PoolChange{
		Identity: c.Identity, VMs: c.Params.List("vms"), Storages: c.Params.List("storage"),
		Remove: c.Params.Bool("delete", false), Move: c.Params.Bool("allow-move", false),
	}

	if c.Params.Has("comment") {
		change.Comment = new(c.Params.Get("comment"))
	}

	return nil, s.parts.Users.UpdatePool(c.Params.Get("poolid"), change)
}

// deletePool handles DELETE /pools and DELETE /pools/{poolid}.
func (s *Service) deletePool(c *api.Call) (any, error) {
	name := c.Params.Get("poolid")

	pool, ok := s.parts.Users.Pool(name)
	if !ok {
		return nil, fmt.Errorf("delete pool failed: pool '%s' does not exist", name)
	}

	for _, other := range s.parts.Users.PoolNames() {
		if strings.HasPrefix(other, name+"/") {
			return nil, fmt.Errorf("delete pool failed: pool '%s' is not empty (contains pool '%s')", name, other)
		}
	}

	for _, vmid := range pool.VMs {
		if _, there := s.env.Guests.Find(vmid); there {
			return nil, fmt.Errorf("delete pool failed: pool '%s' is not empty (contains VM %d)", name, vmid)
		}
	}

	for _, id := range pool.Storages {
		return nil, fmt.Errorf("delete pool failed: pool '%s' is not empty (contains storage '%s')", name, id)
	}

	s.parts.Users.DeletePool(name)

	return nil, nil
}

func (s *Service) poolMethods() []api.Method {
	return []api.Method{
		api.Get("/pools", s.listPools),
		api.Post("/pools", s.createPool),
		api.Put("/pools", s.updatePool),
		api.Delete("/pools", s.deletePool),
		api.Get("/pools/{poolid}", s.getPool),
		api.Put("/pools/{poolid}", s.updatePool),
		api.Delete("/pools/{poolid}", s.deletePool),
	}
}
