package pve

import (
	"context"
	"fmt"
	"slices"
)

// StartingHosts returns the hosts that are starting the machines which start with them: after its own start a host does that one machine
// after the other, in a task of root (pve-manager, PVE/API2/Nodes.pm, startall). The token sees it with Sys.Audit on the host.
func (r Reader) StartingHosts(ctx context.Context) (hosts []string, err error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("the hosts cannot be listed (%w): see that Proxmox VE answers, then run again", err)
	}
	for _, node := range nodes {
		if node.Status != "online" {
			continue
		}
		var tasks []task
		if err := r.get(ctx, &tasks, nodePath(node.Name, "tasks"), "source", "active"); err != nil {
			return nil, fmt.Errorf("the tasks of %s cannot be read (%w): see that the host answers, then run again", node.Name, err)
		}
		if slices.ContainsFunc(tasks, func(t task) bool { return t.Type == "startall" && t.EndTime == 0 }) {
			hosts = append(hosts, node.Name)
		}
	}
	return hosts, nil
}
