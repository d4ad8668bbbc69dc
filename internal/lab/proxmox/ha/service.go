// Package ha is the HA manager of a cluster: its resources, the API methods about them, and the manager itself, which works
// in rounds until each VM is in the requested state (pve-ha-manager 4.0 and 5.0).
//
// Its lock is the outermost one of all parts: it queries the VMs while it holds the lock. The VM part may therefore call it
// only without holding its own locks.
package ha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// VMs are the VMs that the manager can manage.
type VMs interface {
	// Find returns the node of a VM and whether the VM runs; ok is false if it does not exist.
	Find(vmid int) (node string, running, ok bool)
	// Start, Stop, Shutdown and Migrate run tasks of root. They return when the task has ended, with any result. They return
	// an error when the host goes down.
	Start(ctx context.Context, node string, vmid int) error
	Stop(ctx context.Context, node string, vmid int) error
	Shutdown(ctx context.Context, node string, vmid, seconds int) error
	Migrate(ctx context.Context, node string, vmid int, target string) error
}

// Service is the HA manager. It is safe for concurrent use.
type Service struct {
	env *host.Environment
	vms VMs

	mu        sync.Mutex
	resources map[int]*resource
}

// New returns a manager without resources. Manage must be called before it is used.
func New(env *host.Environment) *Service {
	return &Service{env: env, resources: map[int]*resource{}}
}

// Manage sets the VMs that the manager can manage.
func (s *Service) Manage(vms VMs) { s.vms = vms }

// kept is the persistent state.
type kept struct {
	Resources map[int]*resource `json:"ha,omitempty"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Resources: s.resources}, s.mu.Unlock
}

// Restore loads the persistent state. The VMs are managed again after TendAll.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Resources: map[int]*resource{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.resources = restored.Resources

	return nil
}

// list handles GET /cluster/ha/resources.
func (s *Service) list(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []shownResource{}

	for _, vmid := range slices.Sorted(maps.Keys(s.resources)) {
		if kind := c.Params.Get("type"); kind != "" && kind != "vm" {
			continue
		}

		shown := s.show(vmid)
		if shown.Group != "" {
			shown.Errors = map[string]string{"group": fmt.Sprintf("group '%s' does not exist", shown.Group)}
		}

		list = append(list, shown)
	}

	return list, nil
}

// get handles GET /cluster/ha/resources/{sid}.
func (s *Service) get(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.Params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if _, ok := s.resources[vmid]; !ok {
		return nil, fmt.Errorf("no such resource '%s'", sid(vmid))
	}

	return s.show(vmid), nil
}

// create handles POST /cluster/ha/resources.
func (s *Service) create(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.Params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if kind := c.Params.Get("type"); kind != "" && kind != "vm" {
		return nil, errors.New("types does not match")
	}

	if err := s.checkGroup(c.Params.Get("group"), true); err != nil {
		return nil, err
	}

	if _, _, ok := s.vms.Find(vmid); !ok {
		return nil, fmt.Errorf("resource '%s' does not exist in cluster", sid(vmid))
	}

	if _, ok := s.resources[vmid]; ok {
		return nil, fmt.Errorf("create resource failed: resource ID '%s' already defined", sid(vmid))
	}

	r := &resource{}
	if r.Values, err = r.with(c.Params); err != nil {
		return nil, err
	}

	s.resources[vmid] = r
	s.tend(vmid)
	s.env.Changed()

	return nil, nil
}

// checkGroup returns an error for a group, because the cluster has none: since Proxmox VE 9 rules replace them. Before that a
// new resource may name a group that does not exist yet.
func (s *Service) checkGroup(group string, fresh bool) error {
	switch {
	case group == "":
		return nil
	case s.env.Release >= schema.Release91:
		return errors.New("invalid parameter 'group': ha groups have been migrated to rules")
	case fresh:
		return nil
	default:
		return fmt.Errorf("HA group '%s' does not exist", group)
	}
}

// update handles PUT /cluster/ha/resources/{sid}.
func (s *Service) update(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.Params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if err := s.checkGroup(c.Params.Get("group"), false); err != nil {
		return nil, err
	}

	r, ok := s.resources[vmid]
	if !ok {
		return nil, fmt.Errorf("update resources config failed: no such resource '%s'", sid(vmid))
	}

	if err := r.checkService(vmid, c.Params.Get("state")); err != nil {
		return nil, err
	}

	if given := c.Params.Get("digest"); given != "" && given != s.digest() {
		return nil, fmt.Errorf("update resources config failed: %w", api.ErrModified)
	}

	values, err := r.with(c.Params)
	if err != nil {
		return nil, fmt.Errorf("update resources config failed: %w", err)
	}

	r.Values = values
	s.tend(vmid)
	s.env.Changed()

	return nil, nil
}

// remove handles DELETE /cluster/ha/resources/{sid}. The VM stays as it is.
func (s *Service) remove(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.Params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if _, ok := s.resources[vmid]; !ok {
		return nil, fmt.Errorf("cannot delete service '%s', not HA managed!", sid(vmid))
	}

	delete(s.resources, vmid)
	s.env.Changed()

	return nil, nil
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	const base = "/cluster/ha/resources"

	return []api.Method{
		api.Get(base, s.list),
		api.Post(base, s.create),
		api.Get(base+"/{sid}", s.get),
		api.Put(base+"/{sid}", s.update),
		api.Delete(base+"/{sid}", s.remove),
	}
}
