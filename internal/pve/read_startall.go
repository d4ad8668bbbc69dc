package pve

import (
	"context"
	"fmt"
	"slices"
)

// StartingHosts returns which of these hosts are starting the machines that start with the host. After its own start, a host starts them one after
// the other, in a task of root (pve-manager, PVE/API2/Nodes.pm, startall). The token sees it with Sys.Audit on the host.
func (r Reader) StartingHosts(ctx context.Context, hosts []string) (starting []string, err error) {
	for _, host := range hosts {
		var tasks []task
		if err := r.get(ctx, &tasks, nodePath(host, "tasks"), "source", "active"); err != nil {
			return starting, fmt.Errorf("the tasks of %s cannot be read (%w)", host, err)
		}
		if slices.ContainsFunc(tasks, func(t task) bool { return t.Type == "startall" && t.EndTime == 0 }) {
			starting = append(starting, host)
		}
	}
	return starting, nil
}
