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

// checkNameservers checks that the systems which the nodes have as nameservers run. Without any server a node finds neither the registry of its
// images nor a time server, and a run would wait for it in vain; with another one it goes on.
func checkNameservers(s *collector, _ *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	var remaining, running []string
	for _, address := range found.ServerAddresses {
		remaining = append(remaining, address.String())
	}
	var missing []Server
	for _, server := range found.Servers {
		switch server.Where {
		case Elsewhere:
			remaining = append(remaining, server.Name)
			s.ok("nameserver", "nameserver %s of stack %s is in another Proxmox VE, which is not asked", server.Name, server.Stack)
		case Unrehearsed:
			s.warn("nameserver", "nothing, or rehearse both stacks on one lab with `em-infra site up --lab`", "nameserver %s of stack %s is not in this lab, which this stack has for itself", server.Name, server.Stack)
		case Here:
			if found.Guests.Err != nil {
				s.unread("nameserver", "the list of VMs", found.Guests.Err)
				return
			}
			if server.state(found) != "" {
				missing = append(missing, server)
				continue
			}
			remaining = append(remaining, server.Name)
			running = append(running, server.Name+" of stack "+server.Stack)
		}
	}
	for _, server := range missing {
		s.missesServer(server, server.state(found), remaining)
	}
	if found.SparesServers {
		s.soften(mark)
	}
	if s.sound(mark) && len(running) > 0 {
		s.ok("nameserver", "the nameservers of the nodes run: %s", listed(running))
	}
}

// notThere is the state of a system that does not exist.
const notThere = "not there"

// state returns why a system cannot answer; empty if it runs.
func (s Server) state(found Snapshot) string {
	guest, there := found.guest(s.VMID)
	switch {
	case !there || guest.Type != s.Type || guest.Name != s.Name:
		return notThere
	case guest.Status != "running":
		return guest.Status
	default:
		return ""
	}
}

// missesServer adds the finding about a system that cannot answer: a failure if the nodes have no other server.
func (s *collector) missesServer(server Server, state string, remaining []string) {
	kind, does := "VM", "starts"
	if server.Type == pve.TypeContainer {
		kind = "container"
	}
	if state == notThere {
		does = "makes"
	}
	remedy := action{do: fmt.Sprintf("run `em-infra up %s`, which %s it", server.Place, does), madeBy: server.Place}
	sentence := fmt.Sprintf("nameserver %s (%s %d of stack %s) is %s", server.Name, kind, server.VMID, server.Stack, state)
	if len(remaining) > 0 {
		s.warn("nameserver", remedy.do, "%s; the nodes still have %s", sentence, listed(remaining))
		return
	}
	s.lacks("nameserver", remedy, "%s", sentence)
}
