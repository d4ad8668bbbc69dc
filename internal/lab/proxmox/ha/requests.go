package ha

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Power of a VM that the HA manager looks after is asked of the manager: the task ends when it has been told (API2/Qemu.pm,
// vm_start, vm_stop, vm_shutdown, migrate_vm).

// Managed reports whether the manager looks after a VM.
func (s *Service) Managed(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.managed(vmid)

	return ok
}

// Configured reports whether a VM is among the manager's resources, even when it ignores it.
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

// State is that of a VM's service as lists show it, "" for a VM that is no resource.
func (s *Service) State(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.resources[vmid]
	if !ok {
		return ""
	}

	return cmp.Or(r.Service, r.Values["state"])
}

// Status is the group and the state of a VM that the manager looks after (HA/Config.pm, get_service_status).
func (s *Service) Status(vmid int) (group, state string, managed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.managed(vmid)
	if !ok {
		return "", "", false
	}

	return r.Values["group"], r.Service, true
}

// RequestStart asks the manager to start the VM of a call.
func (s *Service) RequestStart(c *api.Call) (any, error) {
	return s.env.Tasks.Fork(c.Node, "hastart", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA start for VM %d", c.VMID)

		command := fmt.Sprintf("set %s --state %s", sid(c.VMID), stateStarted)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Values["state"] = stateStarted })
	})
}

// RequestStop asks the manager to stop the VM of a call within so many seconds.
func (s *Service) RequestStop(c *api.Call, seconds int) (any, error) {
	return s.env.Tasks.Fork(c.Node, "hastop", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA stop for VM %d", c.VMID)

		command := fmt.Sprintf("crm-command stop %s %d", sid(c.VMID), seconds)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Stop = &seconds })
	})
}

// RequestMove asks the manager to move the VM of a call to its target.
func (s *Service) RequestMove(c *api.Call) (any, error) {
	target := c.Params.Get("target")

	return s.env.Tasks.Fork(c.Node, "hamigrate", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		w.Print("Requesting HA migration for VM %d to node %s", c.VMID, target)

		command := fmt.Sprintf("migrate %s %s", sid(c.VMID), target)

		return s.tell(w, c.VMID, command, func(r *resource) { r.Target = target })
	})
}

// tell is a call of the program ha-manager.
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
