package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// errNotSpared is returned when etcd cannot do without the member at this moment.
var errNotSpared = errors.New("etcd cannot do without it")

// awaitSpare waits until etcd can do without the member, at most until limited ends, and returns nil. If a dead member has to be removed before, it
// returns that member. Other removals go on meanwhile: a member that works waits for one that joins.
func (c ControlPlane) awaitSpare(ctx, limited context.Context, others nodeops.Health) (before *nodeops.EtcdMember, err error) {
	var last error
	var never *neverError
	lastMessage := ""
	ended := poll.Until(limited, c.Limits.Interval, func(ctx context.Context) (bool, error) {
		var members []nodeops.EtcdMember
		members, _, last = c.spared(ctx, others)
		before = nil
		if last == nil || errors.As(last, &never) {
			return true, nil
		}
		if before = c.deadBefore(members); before != nil {
			return true, nil
		}
		if last.Error() != lastMessage && limited.Err() == nil {
			lastMessage = last.Error()
			c.say("%s waits until etcd can do without it: %s", c.Name, lastMessage)
		}
		return false, nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("removing %s: %w", c.Name, context.Cause(ctx))
	case before != nil && ended == nil:
		return before, nil
	case never != nil && never.isAlarm:
		return nil, fmt.Errorf("%s is untouched, because %w; then run `em-infra up` again", c.Name, last)
	case ended != nil || last != nil:
		return nil, fmt.Errorf("%s is untouched, because etcd cannot do without it (%w): see `em-infra status`, mend that, then run `em-infra up` again", c.Name, last)
	}
	return nil, nil
}

// spared returns the members, the node's own member (nil if it no longer has one), and why etcd cannot do without it now. It decides by what etcd
// itself reports.
func (c ControlPlane) spared(ctx context.Context, others nodeops.Health) (members []nodeops.EtcdMember, own *nodeops.EtcdMember, err error) {
	members, err = others.Members(ctx)
	if err == nil && len(members) == 0 {
		err = errors.New("etcd runs on no other control plane")
	}
	if own = find(members, c.Name, c.Address); err == nil && own != nil {
		err = c.spares(members, *own)
	}
	return members, own, err
}

// neverError is a reason that does not change by waiting. If it is an alarm of etcd, the reason states what to do.
type neverError struct {
	reason  string
	isAlarm bool
}

func (e *neverError) Error() string { return e.reason }

// find returns the member of a node; nil if there is none. A member without a name has not started yet, and is known by its address.
func find(members []nodeops.EtcdMember, name, address string) *nodeops.EtcdMember {
	at := slices.IndexFunc(members, func(m nodeops.EtcdMember) bool { return m.Name == name || m.Address == address })
	if at < 0 {
		return nil
	}
	return &members[at]
}

// spares returns why etcd cannot do without a member: it needs its majority before and after, and the control planes that stay have to
// be members before one that works is given up. A member that joins is waited for: only then is it known whether it works.
func (c ControlPlane) spares(members []nodeops.EtcdMember, own nodeops.EtcdMember) error {
	if at := slices.IndexFunc(members, func(m nodeops.EtcdMember) bool { return m.Alarmed }); at >= 0 {
		return &neverError{reason: members[at].Problem, isAlarm: true} // as long as it lasts no member works
	}
	voters, working := 0, 0
	var broken []string
	for _, member := range members {
		switch {
		case member.ID == own.ID && member.Learner:
			return nil // it has no vote to lose
		case member.Name == "" || member.Learner:
			return fmt.Errorf("the member at %s is joining%s", member.Address, c.unknown(member))
		}
		voters++
		if member.Problem == "" {
			working++
		} else {
			broken = append(broken, c.described(member))
		}
	}
	after := working
	if own.Problem == "" {
		after--
	}
	switch {
	case voters == 1:
		return &neverError{reason: "it is the only member"}
	case working < majority(voters):
		return fmt.Errorf("%d of %d members work, which is no majority (%s)", working, voters, strings.Join(broken, ", "))
	case after < majority(voters-1):
		return fmt.Errorf("without it, %d of %d members would work, which is no majority (%s)", after, voters-1, strings.Join(broken, ", "))
	case own.Problem != "":
		return nil
	}
	return c.stays(members)
}

// described returns a member that does not work, and why.
func (c ControlPlane) described(member nodeops.EtcdMember) string {
	return fmt.Sprintf("%s: %s%s", member.Name, member.Problem, c.unknown(member))
}

// unknown returns the text that a member is not in the inventory; empty for the other members.
func (c ControlPlane) unknown(member nodeops.EtcdMember) string {
	known := slices.ContainsFunc(c.Stay, func(n rolling.Node) bool { return n.Name == member.Name || n.Address.String() == member.Address })
	if known || c.isOwn(member.Name) || slices.Contains(c.Leave, member.Name) {
		return ""
	}
	return ", and it is no control plane of nodes.yaml"
}

// stays returns an error for the first control plane that stays but is not a working member.
func (c ControlPlane) stays(members []nodeops.EtcdMember) error {
	for _, node := range c.Stay {
		name := node.Name
		if c.isOwn(name) {
			continue
		}
		member := find(members, name, "")
		switch {
		case member == nil:
			return fmt.Errorf("%s, which stays, is no member yet", name)
		case member.Problem != "":
			return fmt.Errorf("%s, which stays, does not work: %s", name, member.Problem)
		}
	}
	return nil
}

func majority(voters int) int { return voters/2 + 1 }
