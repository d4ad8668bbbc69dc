package preflight

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/pve"
)

// hostsOnline checks that hosts exist and are online, and reports whether all are. unknown is what to do about a host that does not exist.
func (s *collector) hostsOnline(ctx context.Context, reader pve.Reader, names []string, unknown string) bool {
	mark := len(s.checks)
	nodes, err := reader.Nodes(ctx)
	if err != nil {
		s.unread("host", "the list of hosts", err)
		return false
	}
	for _, name := range names {
		at := slices.IndexFunc(nodes, func(n pve.Node) bool { return n.Name == name })
		switch {
		case at < 0:
			s.fail("host", unknown, "there is no host %s", name)
		case nodes[at].Status != "online":
			s.fail("host", "start it", "host %s is %s", name, nodes[at].Status)
		default:
			s.ok("host", "host %s is online", name)
		}
	}
	return s.sound(mark)
}
