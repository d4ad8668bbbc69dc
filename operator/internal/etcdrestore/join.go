package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// Join waits until every control plane that answers is a member of etcd that votes. It returns those that do not answer. One that came back with
// data from before the restore is emptied, since it would never join.
func (r Restore) Join(ctx context.Context) (away []ControlPlane, err error) {
	r.Limits = r.Limits.withDefaults()
	bounded, cancel := context.WithTimeout(ctx, r.Limits.Join)
	defer cancel()
	ordered := orders{}
	var last error
	ended := poll.Until(bounded, r.Limits.Interval, func(ctx context.Context) (bool, error) {
		left, found := r.notJoined(ctx, ordered)
		if bounded.Err() == nil {
			last, away = left, found
		}
		return last == nil, nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting for the members of etcd: %w", context.Cause(ctx))
	case ended != nil:
		return nil, fmt.Errorf("etcd has the data of the snapshot, and not every control plane has joined it (%w): see `em-infra status`, mend that, then run `em-infra etcd restore` again; it goes on from here", last)
	}
	return away, nil
}

// notJoined returns what is still pending, and the control planes that do not answer. It looks at the data before it looks at the members: one that
// joins is in the list of members before it has any data.
func (r Restore) notJoined(ctx context.Context, ordered orders) (left error, away []ControlPlane) {
	seen := Look(ctx, r.Talosconfig, r.ControlPlanes)
	members, err := nodeops.Health{Talosconfig: r.Talosconfig, Nodes: r.ControlPlanes}.Members(ctx)
	if err != nil {
		return err, nil
	}
	var waits []error
	var strays []ControlPlane
	for _, node := range seen {
		problem, isMember := problemOf(members, node)
		_, isOrdered := ordered[node.Name]
		switch {
		case isMember && problem == "":
		case isMember:
			waits = append(waits, fmt.Errorf("%s: %s", node.Name, problem))
		case node.Name == r.On.Name: // its data is that of the snapshot
			waits = append(waits, fmt.Errorf("%s is no member", node.Name))
		case node.Data == Silent && !isOrdered:
			away = append(away, node)
		case node.Data == Some:
			strays = append(strays, node)
		default:
			if node.Data == None {
				delete(ordered, node.Name) // it is empty: data that comes now is that of the restored etcd
			}
			waits = append(waits, fmt.Errorf("%s is no member yet", node.Name))
		}
	}
	return errors.Join(append(waits, r.wipe(ctx, strays, ordered))...), away
}

// problemOf returns why a control plane is no member that votes. One that is starting has no name in the list yet.
func problemOf(members []nodeops.EtcdMember, node ControlPlane) (problem string, isMember bool) {
	at := slices.IndexFunc(members, func(m nodeops.EtcdMember) bool { return m.Name == node.Name || m.Address == node.Address.String() })
	switch {
	case at < 0:
		return "", false
	case members[at].Problem == "" && members[at].Learner:
		return "it is a learner", true
	default:
		return members[at].Problem, true
	}
}

// KeepJoining empties control planes that come back with data from before the restore, until ctx ends, e.g. while others are being made.
func (r Restore) KeepJoining(ctx context.Context) {
	r.Limits = r.Limits.withDefaults()
	ordered := orders{}
	_ = poll.Until(ctx, r.Limits.Interval, func(ctx context.Context) (bool, error) { // Join reports what is still pending
		_, _ = r.notJoined(ctx, ordered)
		return false, nil
	})
}
