package preflight

import (
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

const online = "online"

// status returns the status of a host in the cluster; empty if it is not in the cluster.
func (found Snapshot) status(host string) string {
	at := slices.IndexFunc(found.Nodes.Value, func(node pve.Node) bool { return node.Name == host })
	if at < 0 {
		return ""
	}
	return found.Nodes.Value[at].Status
}

func (g *gatherer) isOnline(host string) bool { return g.found.status(host) == online }

// onlineHosts returns the hosts of the inventory that are online.
func onlineHosts(inv *inventory.Inventory, found Snapshot) []string {
	return slices.DeleteFunc(hostNames(inv), func(name string) bool { return found.status(name) != online })
}

func checkHosts(s *collector, inv *inventory.Inventory, found Snapshot) {
	if found.Nodes.Err != nil {
		s.unread("host", "the list of hosts", found.Nodes.Err)
		return
	}
	var known []string
	for _, node := range found.Nodes.Value {
		known = append(known, node.Name)
	}
	slices.Sort(known)
	for _, name := range hostNames(inv) {
		switch status := found.status(name); status {
		case online:
		case "":
			s.fail("host", "correct host in the inventory", "host %s is not in this Proxmox VE cluster, which has %s", name, listed(known))
		default:
			s.fail("host", "start the host, or see its network", "host %s is %s", name, status)
		}
	}
	if up := onlineHosts(inv, found); len(up) > 0 {
		s.ok("host", "%s online", areHosts(up))
	}
}

func areHosts(names []string) string {
	if len(names) == 1 {
		return "host " + names[0] + " is"
	}
	return "hosts " + strings.Join(names, ", ") + " are"
}

// Certificates are created on this machine and checked on the nodes, which start with their host's clock. If it is behind, they are
// not valid yet; if it is far ahead, some count as expired.
const (
	noticedSkew  = 5 * time.Second
	harmfulSkew  = time.Minute
	clockMending = "see `chronyc tracking` on the host, and `timedatectl` here"
)

func checkClocks(s *collector, inv *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	hosts := onlineHosts(inv, found)
	for _, name := range hosts {
		ahead := found.Hosts[name].Ahead
		side := "ahead of"
		if ahead.Value < 0 {
			side = "behind"
		}
		switch skew := ahead.Value.Abs(); {
		case ahead.Err != nil:
			s.unread("clock", "the clock of "+name, ahead.Err)
		case skew >= harmfulSkew:
			s.fail("clock", clockMending, "the clock of %s is %s %s this machine's: certificates would not be valid", name, skew, side)
		case skew >= noticedSkew:
			s.warn("clock", clockMending, "the clock of %s is %s %s this machine's", name, skew, side)
		}
	}
	if s.sound(mark) && len(hosts) > 0 {
		s.ok("clock", "%s agrees with this machine's", clocksOf(hosts))
	}
}

func clocksOf(hosts []string) string {
	if len(hosts) == 1 {
		return "the clock of " + hosts[0]
	}
	return "every clock of " + strings.Join(hosts, ", ")
}
