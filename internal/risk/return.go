package risk

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// returns says that the node was configured, and has lost its configuration without the state knowing: its machine is made
// anew although nothing asked for that, or waits for a configuration.
func (n node) returns() bool {
	return n.before && n.configured && (n.reset || n.isDeleted())
}

// isDeleted says that its machine was deleted on the host.
func (n node) isDeleted() bool { return n.machine != nil && n.machine.Op == apitype.OpCreate }

// returning returns the control planes that have lost their etcd data.
func (t topology) returning() []*node {
	var found []*node
	for _, n := range t.controlPlanes() {
		if n.returns() {
			found = append(found, n)
		}
	}
	return found
}

// isLost says that nobody has the data of the cluster's etcd any more. A cluster that was never bootstrapped has none to
// lose.
func (t topology) isLost() bool {
	return t.bootstrapped && len(t.returning()) == len(t.controlPlanes())
}

func comesBack(s plan.Step, t topology) bool {
	return s.URN.Type() == token.VirtualMachine && t.nodes[s.Parent] != nil && t.nodes[s.Parent].returns() && s.Op == apitype.OpCreate
}

// nodeComesBack returns a machine that was deleted on the host.
func nodeComesBack(s plan.Step, t topology) *Finding {
	f := nodeCreated(s, t)
	f.What = append(f.What, "it was deleted on the host: made anew and joined again")
	f.Means = []string{"what was on its disks is lost"}
	f.judgeReturn(t.nodes[s.Parent], t)
	return f
}

// nodeWasReset returns a machine that is there and waits for a configuration.
func nodeWasReset(n *node, t topology) *Finding {
	f := &Finding{
		Kind: Change, Subject: n.name, rank: rankOf(n),
		What: []string{"it is in maintenance mode, because it was reset or made anew by hand: configured and joined again"},
	}
	f.judgeReturn(n, t)
	return f
}

// judgeReturn says what the return of a control plane means for etcd. Fewer than a majority can neither take a member in
// nor remove one; where nobody is left, there is nothing to spoil any more.
func (f *Finding) judgeReturn(n *node, t topology) {
	if !n.controlPlane || !t.bootstrapped {
		return
	}
	gone, all := len(t.returning()), len(t.controlPlanes())
	restore := fmt.Sprintf("restore the VM of %s from a backup", n.name)
	switch {
	case t.isLost():
		means := "no control plane has the data of etcd any more"
		if all == 1 {
			means = "this is the only control plane"
		}
		f.Means = append(f.Means, means+": the cluster is lost; an empty one is made with the same keys, and the addons are installed anew")
		f.Needs = append(f.Needs, Permission{Flag: FlagReplace, Subject: n.name})
		f.Undo = append(f.Undo, restore)
	case all-gone < all/2+1:
		f.Kind = Impossible
		f.Means = append(f.Means, fmt.Sprintf("%d of %d control planes are gone: etcd has no quorum, and takes nobody in", gone, all))
		f.Undo = append(f.Undo, restore)
	default:
		f.Means = append(f.Means, fmt.Sprintf("its dead etcd member is removed and it joins anew; the other %d have all data", all-gone))
	}
}
