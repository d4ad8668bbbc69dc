package proxmox

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// listHA answers GET /cluster/ha/resources.
func (s *Server) listHA(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []shownHA{}

	for _, vmid := range sortedNames(s.state.HA) {
		if kind := c.params.Get("type"); kind != "" && kind != "vm" {
			continue
		}

		shown := s.showHA(vmid)
		if shown.Group != "" {
			shown.Errors = map[string]string{"group": fmt.Sprintf("group '%s' does not exist", shown.Group)}
		}

		list = append(list, shown)
	}

	return list, nil
}

// getHA answers GET /cluster/ha/resources/{sid}.
func (s *Server) getHA(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if _, ok := s.state.HA[vmid]; !ok {
		return nil, fmt.Errorf("no such resource '%s'", sid(vmid))
	}

	return s.showHA(vmid), nil
}

// createHA answers POST /cluster/ha/resources.
func (s *Server) createHA(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if kind := c.params.Get("type"); kind != "" && kind != "vm" {
		return nil, errors.New("types does not match")
	}

	if err := s.checkGroup(c.params.Get("group"), true); err != nil {
		return nil, err
	}

	if _, ok := s.state.VMs[vmid]; !ok {
		return nil, fmt.Errorf("resource '%s' does not exist in cluster", sid(vmid))
	}

	if _, ok := s.state.HA[vmid]; ok {
		return nil, fmt.Errorf("create resource failed: resource ID '%s' already defined", sid(vmid))
	}

	r := &haResource{}
	if r.Values, err = r.with(c.params); err != nil {
		return nil, err
	}

	s.state.HA[vmid] = r
	s.tend(vmid)
	s.changed()

	return nil, nil
}

// checkGroup refuses groups, of which the cluster has none: since Proxmox VE 9 there are rules in their place, before
// that a new resource may name one that is still to come.
func (s *Server) checkGroup(group string, fresh bool) error {
	switch {
	case group == "":
		return nil
	case s.config.Release >= schema.Release91:
		return errors.New("invalid parameter 'group': ha groups have been migrated to rules")
	case fresh:
		return nil
	default:
		return fmt.Errorf("HA group '%s' does not exist", group)
	}
}

// updateHA answers PUT /cluster/ha/resources/{sid}.
func (s *Server) updateHA(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if err := s.checkGroup(c.params.Get("group"), false); err != nil {
		return nil, err
	}

	r, ok := s.state.HA[vmid]
	if !ok {
		return nil, fmt.Errorf("update resources config failed: no such resource '%s'", sid(vmid))
	}

	if err := r.checkService(vmid, c.params.Get("state")); err != nil {
		return nil, err
	}

	if given := c.params.Get("digest"); given != "" && given != s.digestHA() {
		return nil, fmt.Errorf("update resources config failed: %w", errModified)
	}

	values, err := r.with(c.params)
	if err != nil {
		return nil, fmt.Errorf("update resources config failed: %w", err)
	}

	r.Values = values
	s.tend(vmid)
	s.changed()

	return nil, nil
}

// deleteHA answers DELETE /cluster/ha/resources/{sid}: the VM stays as it is.
func (s *Server) deleteHA(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	vmid, err := s.parseSID(c.params.Get("sid"))
	if err != nil {
		return nil, err
	}

	if _, ok := s.state.HA[vmid]; !ok {
		return nil, fmt.Errorf("cannot delete service '%s', not HA managed!", sid(vmid))
	}

	delete(s.state.HA, vmid)
	s.changed()

	return nil, nil
}

func haRows() []row {
	const base = "/cluster/ha/resources"

	return []row{
		{Verb: http.MethodGet, Path: base, serve: (*Server).listHA},
		{Verb: http.MethodPost, Path: base, serve: (*Server).createHA},
		{Verb: http.MethodGet, Path: base + "/{sid}", serve: (*Server).getHA},
		{Verb: http.MethodPut, Path: base + "/{sid}", serve: (*Server).updateHA},
		{Verb: http.MethodDelete, Path: base + "/{sid}", serve: (*Server).deleteHA},
	}
}
