package ha

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// A power request for a managed VM goes to the HA manager. Its task ends when the manager has accepted the request
// (API2/Qemu.pm, vm_start, vm_stop, vm_shutdown, migrate_vm).

// Managed reports whether the manager manages a VM.
func (s *Service) Managed(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.managed(vmid)

	return ok
}

// Configured reports whether a VM is an HA resource, even an ignored one.
func (s *Service) Configured(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.resources[vmid]

	return ok
}

// Forget removes a VM from the resources, and reports whether it was one.
func (s *Service) Forget(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.resources[vmid]
	delete(s.resources, vmid)

	return ok
}

// State returns the state of a VM's service for lists, "" for a VM that is not a resource.
func (s *Service) State(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.resources[vmid]
	if !ok {
		return ""
	}

	return cmp.Or(r.Service, r.Values["state"])
}

// Status returns the group and the state of a managed VM (HA/Config.pm, get_service_status).
func (s *Service) Status(vmid int) (group, state string, managed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.managed(vmid)
	if !ok {
		return "", "", false
	}

	return r.Values["group"], r.Service, true
}

// RequestStart requests the start of the call's VM.
func (s *Service) RequestStart(c *api.Call) (any, error) {
	return s.env.Tasks.Fork(c.Node, "hastart", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA start for VM %d", c.VMID)

		command := fmt.Sprintf("set %s --state %s", sid(c.VMID), stateStarted)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Values["state"] = stateStarted })
	})
}

// RequestStop requests the stop of the call's VM within the given number of seconds.
func (s *Service) RequestStop(c *api.Call, seconds int) (any, error) {
	return s.env.Tasks.Fork(c.Node, "hastop", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA stop for VM %d", c.VMID)

		command := fmt.Sprintf("crm-command stop %s %d", sid(c.VMID), seconds)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Stop = &seconds })
	})
}

// RequestMove requests the migration of the call's VM to its target.
func (s *Service) RequestMove(c *api.Call) (any, error) {
	target := c.Params.Get("target")

	return s.env.Tasks.Fork(c.Node, "hamigrate", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA migration for VM %d to node %s", c.VMID, target)

		command := fmt.Sprintf("migrate %s %s", sid(c.VMID), target)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Target = target })
	})
}

// tell emulates a call of the program ha-manager.
func (s *Service) tell(w *task.Worker, vmid int, command string, change func(*resource)) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.managed(vmid)
	problem := fmt.Errorf("resource '%s' is not HA managed", sid(vmid))

	if ok {
		problem = r.checkService(vmid, "")
	}

	if problem != nil {
		w.Print("%s", problem)
		return fmt.Errorf("command 'ha-manager %s' failed: exit code 255", command)
	}

	change(r)
	s.tend(vmid)
	s.env.Changed()

	return nil
}
