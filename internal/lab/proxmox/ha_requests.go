package proxmox

import (
	"fmt"
	"strconv"
)

// Power of a VM that the HA manager looks after is asked of the manager: the task ends when it has been told (API2/Qemu.pm,
// vm_start, vm_stop, vm_shutdown, migrate_vm).

func (s *Server) isManaged(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.state.managed(vmid)

	return ok
}

func (s *Server) requestStart(c *call) (any, error) {
	return s.fork(c.node, "hastart", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		w.print("Requesting HA start for VM %d", c.vmid)

		command := fmt.Sprintf("set %s --state %s", sid(c.vmid), haStarted)

		return s.tell(w, c.vmid, command, func(r *haResource) { r.Values["state"] = haStarted })
	})
}

func (s *Server) requestStop(c *call, seconds int) (any, error) {
	return s.fork(c.node, "hastop", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		w.print("Requesting HA stop for VM %d", c.vmid)

		command := fmt.Sprintf("crm-command stop %s %d", sid(c.vmid), seconds)

		return s.tell(w, c.vmid, command, func(r *haResource) { r.Stop = &seconds })
	})
}

func (s *Server) requestMove(c *call) (any, error) {
	target := c.params.Get("target")

	return s.fork(c.node, "hamigrate", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		w.print("Requesting HA migration for VM %d to node %s", c.vmid, target)

		command := fmt.Sprintf("migrate %s %s", sid(c.vmid), target)

		return s.tell(w, c.vmid, command, func(r *haResource) { r.Target = target })
	})
}

// tell is a call of the program ha-manager.
func (s *Server) tell(w *worker, vmid int, command string, change func(*haResource)) error {
	return s.locked(func() error {
		r, ok := s.state.managed(vmid)
		problem := fmt.Errorf("resource '%s' is not HA managed", sid(vmid))

		if ok {
			problem = r.checkService(vmid, "")
		}

		if problem != nil {
			w.print("%s", problem)
			return fmt.Errorf("command 'ha-manager %s' failed: exit code 255", command)
		}

		change(r)
		s.tend(vmid)
		s.changed()

		return nil
	})
}
