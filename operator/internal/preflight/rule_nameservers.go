package preflight

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// Server is a system of another stack that a cluster has as a nameserver.
type Server struct {
	// Name, Type and VMID are those of the system.
	Name, Type string
	VMID       int
	// Stack is the stack that makes it, and Place are the flags that select that, such as "--stack site-systems".
	Stack, Place string
	// Where is where its stack is.
	Where Where
}

// Where is where the guests of another stack are.
type Where int

// Values of Where.
const (
	// Here is the Proxmox VE that is asked.
	Here Where = iota
	// Elsewhere is another Proxmox VE, which is not asked.
	Elsewhere
	// Unrehearsed is nowhere: a rehearsal of one stack has a lab without the other.
	Unrehearsed
)

// checkNameservers checks that the systems run that the nodes ask for names: without them a node finds neither the registry of its images
// nor a time server, and a run would wait for it in vain.
func checkNameservers(s *collector, _ *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	var running []string
	for _, server := range found.Servers {
		switch server.Where {
		case Elsewhere:
			s.ok("nameserver", "nameserver %s of stack %s is in another Proxmox VE, which is not asked", server.Name, server.Stack)
		case Unrehearsed:
			s.warn("nameserver", "nothing, or rehearse both stacks on one lab with `em-infra site up --lab`", "nameserver %s of stack %s is not in this lab, which this stack has for itself", server.Name, server.Stack)
		case Here:
			if found.Guests.Err != nil {
				s.unread("nameserver", "the list of VMs", found.Guests.Err)
				return
			}
			if s.runs(server, found) {
				running = append(running, server.Name+" of stack "+server.Stack)
			}
		}
	}
	if s.sound(mark) && len(running) > 0 {
		s.ok("nameserver", "what the nodes ask for names runs: %s", listed(running))
	}
}

// runs reports whether a system is there and runs.
func (s *collector) runs(server Server, found Snapshot) bool {
	kind := "VM"
	if server.Type == pve.TypeContainer {
		kind = "container"
	}
	state, does := "", ""
	guest, there := found.guest(server.VMID)
	switch {
	case !there || guest.Type != server.Type || guest.Name != server.Name:
		state, does = "not there", "makes"
	case guest.Status != "running":
		state, does = guest.Status, "starts"
	default:
		return true
	}
	remedy := action{do: fmt.Sprintf("run `em-infra up %s`, which %s it", server.Place, does), madeBy: server.Place}
	s.lacks("nameserver", remedy, "nameserver %s (%s %d of stack %s) is %s", server.Name, kind, server.VMID, server.Stack, state)
	return false
}
