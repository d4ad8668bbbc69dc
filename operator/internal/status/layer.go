package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
)

// Host is a host of Proxmox VE that a stack configures.
type Host struct {
	// Name is that of the inventory.
	Name string `json:"name"`
	// Status is online, offline or unknown; absent if Proxmox VE has no such host.
	Status string `json:"status"`
}

// lacks returns what is wrong with a host; empty if nothing is.
func (h Host) lacks() string {
	if h.Status == "online" {
		return ""
	}
	return h.Name + " is " + h.Status
}

// remedy returns what is wrong with a host and what to do about it; empty if nothing is wrong.
func (h Host) remedy() string {
	switch h.Status {
	case "online":
		return ""
	case absent:
		return "Proxmox VE has no host of this name: correct hosts.yaml, or join it to the cluster"
	case unknown:
		return "it is unknown, since it sends no status: start its service pvestatd"
	default:
		return "it is " + h.Status + ": start it, and see that it reaches the other hosts"
	}
}

// OfState returns a report about the state alone.
func (s Sources) OfState(now time.Time) Report {
	return Report{
		Time: now, Machines: []Machine{}, Copies: s.Copies,
		State: State{
			Resources: len(s.Deployment.Resources), LastUpdate: s.LastUpdate, Pending: pending(s.Deployment), Locks: s.Locks,
		},
	}
}

// AskForHosts adds the hosts of a stack that configures them.
func (r Report) AskForHosts(ctx context.Context, reader pve.Reader, names []string) Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	nodes, err := reader.Nodes(ctx)
	if err != nil {
		return r.WithUnread(fmt.Errorf("the hosts: %w", err))
	}
	for _, name := range names {
		host := Host{Name: name, Status: absent}
		if at := slices.IndexFunc(nodes, func(n pve.Node) bool { return n.Name == name }); at >= 0 {
			host.Status = nodes[at].Status
		}
		r.Hosts = append(r.Hosts, host)
	}
	return r
}
