package kubernetes

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// instance is a process that is to run: a release, with the machine configuration of a node.
type instance struct {
	release ControlPlane
	node    talos.KubernetesNode
	keys    string // [fingerprint] of that configuration
}

func newInstance(release ControlPlane, node talos.KubernetesNode) instance {
	return instance{release: release, node: node, keys: fingerprint(node.Config)}
}

// isSame reports whether two instances are one process.
func (i instance) isSame(other instance) bool {
	return i.release == other.release && i.keys == other.keys
}

// lineup are the processes that the static pods of a cluster ask for. Control planes of one release with the same keys share an API
// server, and all of them share a controller manager and a scheduler, which are the leaders of a real cluster.
type lineup struct {
	// servers are the API servers, one for each release and its keys, the oldest release first.
	servers []instance
	// manager and scheduler are nil if no control plane runs one.
	manager, scheduler *instance
}

// lineup returns the processes of these static pods.
func (t Tools) lineup(runs []staticPodRun) lineup {
	var l lineup
	nodes := soundFirst(runs)
	for _, node := range nodes[:max(1, len(serving(runs)))] {
		server := newInstance(t.releaseOf(node.Config.Cluster().APIServer().Image()), node)
		if !slices.ContainsFunc(l.servers, server.isSame) {
			l.servers = append(l.servers, server)
		}
	}
	slices.SortStableFunc(l.servers, func(a, b instance) int { return older(a.release, b.release) })
	for _, node := range nodes {
		plane, cluster := node.Config.Machine().Controlplane(), node.Config.Cluster()
		if !plane.ControllerManager().Disabled() {
			l.manager = leader(l.manager, newInstance(t.releaseOf(cluster.ControllerManager().Image()), node))
		}
		if !plane.Scheduler().Disabled() {
			l.scheduler = leader(l.scheduler, newInstance(t.releaseOf(cluster.Scheduler().Image()), node))
		}
	}
	return l
}

// leader returns the one of two instances that leads: the older release, since a leader that is restarted hands its lease on to an
// instance that runs.
func leader(one *instance, other instance) *instance {
	if one != nil && older(one.release, other.release) <= 0 {
		return one
	}
	return &other
}
