package preflight

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
)

// HostsSubject is the subject of the checks of a stack that configures hosts.
type HostsSubject struct {
	// Inventory describes how the hosts are configured.
	Inventory *hosts.Inventory
	// Host is the connection to Proxmox VE.
	Host pve.Connection
}

// Hosts gathers the facts about hosts that are to be configured, and checks them. Facts that cannot be read are failed checks; the error is
// the context's.
func Hosts(ctx context.Context, subject HostsSubject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s collector
	reader, err := pve.NewReader(subject.Host)
	if err != nil {
		s.unread("host", "Proxmox VE", err)
		return s.checks, nil
	}
	s.hostsThere(bounded, reader, subject.Inventory)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.checks, nil
}

// hostsThere checks that each host of the inventory is online.
func (s *collector) hostsThere(ctx context.Context, reader pve.Reader, inv *hosts.Inventory) {
	nodes, err := reader.Nodes(ctx)
	if err != nil {
		s.unread("host", "the list of hosts", err)
		return
	}
	for _, name := range inv.Hosts() {
		at := slices.IndexFunc(nodes, func(n pve.Node) bool { return n.Name == name })
		switch {
		case at < 0:
			s.fail("host", "correct hosts in hosts.yaml, or join the host to the cluster", "there is no host %s", name)
		case nodes[at].Status != "online":
			s.fail("host", "start it", "host %s is %s", name, nodes[at].Status)
		default:
			s.ok("host", "host %s is online", name)
		}
	}
}
