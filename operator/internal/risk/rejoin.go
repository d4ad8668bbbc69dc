package risk

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// rejoins reports whether the node was configured and has lost its configuration outside of the state: its machine is created
// although the inventory did not change, or waits for a configuration.
func (n node) rejoins() bool {
	return n.before && n.configured && (n.reset || n.isDeleted())
}

// isDeleted reports whether its machine was deleted on the host.
func (n node) isDeleted() bool { return n.machine != nil && n.machine.Op == apitype.OpCreate }

// rejoining returns the control planes that have lost their etcd data.
func (t topology) rejoining() []*node {
	var found []*node
	for _, n := range t.controlPlanes() {
		if n.rejoins() {
			found = append(found, n)
		}
	}
	return found
}

// isLost reports whether no control plane has the data of the cluster's etcd. A cluster that was never bootstrapped has no data
// to lose.
func (t topology) isLost() bool {
	return t.bootstrapped && len(t.rejoining()) == len(t.controlPlanes())
}

func nodeRejoins(s plan.Step, t topology) bool {
	return s.URN.Type() == token.VirtualMachine && t.nodes[s.Parent] != nil && t.nodes[s.Parent].rejoins() && s.Op == apitype.OpCreate
}

// nodeRecreated returns the finding of a machine that was deleted on the host.
func nodeRecreated(s plan.Step, t topology) *Finding {
	f := nodeCreated(s, t)
	f.What = append(f.What, "it was deleted on the host: it is created again and joins again")
	f.Means = []string{"what was on its disks is lost"}
	f.judgeRejoin(t.nodes[s.Parent], t)
	return f
}

// nodeWasReset returns the finding of a machine that exists and waits for a configuration.
func nodeWasReset(n *node, t topology) *Finding {
	f := &Finding{
		Kind: Change, Subject: n.name, rank: rankOf(n),
		What: []string{"it is in maintenance mode, because it was reset or created again by hand: it is configured and joins again"},
	}
	f.judgeRejoin(n, t)
	return f
}

// bringBack is the way back from lost data of etcd. It is one for all control planes.
const bringBack = "bring etcd back from a snapshot with `em-infra etcd restore`"

// judgeRejoin adds what the return of a control plane means for etcd. Fewer than a majority can neither add nor remove a
// member; if none is left, no data can be damaged.
func (f *Finding) judgeRejoin(n *node, t topology) {
	if !n.controlPlane || !t.bootstrapped {
		return
	}
	gone, all := len(t.rejoining()), len(t.controlPlanes())
	restore := fmt.Sprintf("restore the VM of %s from a backup", n.name)
	switch {
	case t.restore != nil && n.name == t.restore.On:
		f.Means = append(f.Means, "etcd starts on it from the snapshot")
	case t.restore != nil:
		f.Means = append(f.Means, "it joins the restored etcd")
	case t.isLost():
		means := "no control plane has the data of etcd any more"
		if all == 1 {
			means = "this is the only control plane"
		}
		f.Means = append(f.Means, means+": the cluster is lost; an empty one is created with the same keys, and the addons are installed again")
		f.Needs = append(f.Needs, Permission{Flag: FlagReplace, Subject: n.name})
		f.Undo = append(f.Undo, bringBack, restore)
	case all-gone < all/2+1:
		f.Kind = Impossible
		f.Means = append(f.Means, fmt.Sprintf("%d of %d control planes are gone: etcd has no quorum, and no member can join", gone, all))
		f.Undo = append(f.Undo, bringBack, restore)
	default:
		f.Means = append(f.Means, fmt.Sprintf("its dead member of etcd is removed, and it joins as a new one; the other %d have all data", all-gone))
	}
}
