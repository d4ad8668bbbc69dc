package preflight

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// owner returns the stack and cluster that a guest belongs to, if its description names them.
func (found Snapshot) owner(guest pve.Guest) (owner ownership.Owner, isMarked bool) {
	return ownership.In(found.Configs[guest.VMID].Value["description"])
}

// belongs reports whether a guest is a machine of this stack. Only the mark in its description counts: a copy of a stack has the same names, VMIDs
// and MAC addresses. A guest without a mark, because its description was edited or a release without marks created it, belongs to this stack if its
// state has the VMID; a run then writes the mark.
func (found Snapshot) belongs(guest pve.Guest) bool {
	owner, isMarked := found.owner(guest)
	if isMarked {
		return owner == found.Owner
	}
	return found.Knows[guest.VMID]
}

// stranger returns the owner of a guest that looks like ours but is not, and a remedy besides changing the inventory. Both are empty
// if nothing more is known.
func (found Snapshot) stranger(guest pve.Guest, looksLikeOurs bool) (whose, remedy string) {
	owner, isMarked := found.owner(guest)
	switch {
	case isMarked && owner.Stack == found.Owner.Stack && owner != found.Owner:
		return fmt.Sprintf(", which belongs to %s: this stack's state is of another cluster", owner), found.restore()
	case isMarked && owner.Cluster == found.Owner.Cluster && owner != found.Owner:
		return fmt.Sprintf(", which belongs to stack %s: this stack's state is a copy of that one's, or that one was renamed", owner.Stack),
			fmt.Sprintf("work on stack %[1]s, or, after a rename, take it back with `pulumi stack rename --stack %[2]s %[1]s`; or ", owner.Stack, found.Owner.Stack)
	case isMarked && owner != found.Owner:
		return fmt.Sprintf(", which belongs to %s", owner), ""
	case !isMarked && looksLikeOurs && !found.Knows[guest.VMID]:
		return ", which the state does not know, and whose description does not say that this stack has made it", found.restore()
	default:
		return "", ""
	}
}

// restore returns the remedy of a state that has lost a machine. Only a state without machines is written by an adoption.
func (found Snapshot) restore() string {
	const restore = "put the state that knows it back with `em-infra state restore`"
	for _, isKnown := range found.Knows {
		if isKnown {
			return restore + "; or "
		}
	}
	return restore + ", or, without a backup, write it with `em-infra adopt`; or "
}
