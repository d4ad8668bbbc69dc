package removal

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// deadBefore returns a member that does not work, leaves in the same run, and can be removed: etcd takes no new member as long as one is dead (etcd
// v3.6, server.go, mayAddMember), so a control plane that waits for a new member may be waiting for this removal. It returns nil if there is no such
// member.
func (c ControlPlane) deadBefore(members []nodeops.EtcdMember) *nodeops.EtcdMember {
	at := slices.IndexFunc(members, func(m nodeops.EtcdMember) bool {
		return m.Name != c.Name && m.Problem != "" && slices.Contains(c.Leave, m.Name) && c.instead(m).spares(members, m) == nil
	})
	if at < 0 {
		return nil
	}
	return &members[at]
}

// instead returns the removal of another control plane that leaves in the same run.
func (c ControlPlane) instead(member nodeops.EtcdMember) ControlPlane {
	c.Name, c.Address, c.Successor = member.Name, member.Address, ""
	return c
}

// expelBefore removes the member of another control plane that leaves in the same run, if that is dead. Its own removal does the rest.
func (c ControlPlane) expelBefore(ctx context.Context, others nodeops.Health, member nodeops.EtcdMember) error {
	gone := c.instead(member)
	api, err := gone.kubernetes(ctx, addressesOf(others))
	if err != nil {
		return err
	}
	defer api.Close()
	seen, err := gone.look(ctx, api)
	if err != nil || seen != dead {
		return err
	}
	_, own, problem := gone.spared(ctx, others)
	if problem != nil || own == nil {
		return nil // something has changed: the one that waits looks again
	}
	return gone.bury(ctx, others, own)
}

// ExpelDead removes the members of the control planes in Leave that are dead, as far as etcd can do without them; the name of c has no meaning here.
// An engine removes last, and the changes before that wait for an etcd without dead members. A member that cannot be removed now is left to the
// removal of its control plane, which reports why.
func (c ControlPlane) ExpelDead(ctx context.Context) error {
	c.Limits = c.Limits.withDefaults()
	others, err := c.others()
	if err != nil {
		return err
	}
	for {
		members, err := others.Members(ctx)
		before := c.deadBefore(members)
		if err != nil || before == nil {
			return context.Cause(ctx)
		}
		api, err := c.instead(*before).awaitClientset(ctx, addressesOf(others))
		if err != nil {
			return err
		}
		if err := c.alone(ctx, api, func(ctx context.Context) error { return c.expelBefore(ctx, others, *before) }); err != nil {
			return err
		}
		c.Leave = without(c.Leave, before)
	}
}

// without returns the names except that of a member, so that it is looked at only once. The member may be nil.
func without(names []string, member *nodeops.EtcdMember) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return member != nil && name == member.Name })
}
