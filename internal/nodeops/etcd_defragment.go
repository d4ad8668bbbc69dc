package nodeops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
)

// defragmentTimeout bounds the defragmentation of a member, which answers nothing meanwhile. etcd rewrites about 100 MB in a second, and
// has 8 GiB at most.
const defragmentTimeout = 5 * time.Minute

// Defragmented is a member whose database was rewritten without its free pages.
type Defragmented struct {
	// Node is the name of its node.
	Node string
	// Before and After are the sizes of the database in bytes, InUse how much of it is in use.
	Before, After, InUse int64
}

// DefragmentEtcd rewrites the databases of all members, one at a time and the leader last, and calls done after each. It stops if a member does not
// vote before or after, because a member does not answer while it is defragmented, as if it were off. An alarm about space does not stop it, because
// it is the remedy for that alarm; an alarm about corrupt data does.
func (h Health) DefragmentEtcd(ctx context.Context, done func(Defragmented)) error {
	members, err := h.Members(ctx)
	if err != nil {
		return err
	}
	if len(members) == 0 {
		return errNoEtcd
	}
	alarms, err := h.EtcdAlarms(ctx, members)
	if err != nil {
		return err
	}
	for _, alarm := range alarms {
		if alarm.Kind == AlarmCorrupt {
			return errors.New(alarmOf("alarm:" + string(alarm.Kind)))
		}
	}
	order, err := h.leaderLast(ctx, members)
	if err != nil {
		return err
	}
	for _, member := range order {
		if err := h.allVote(ctx, members); err != nil {
			return fmt.Errorf("%s is not defragmented, because etcd cannot do without it (%w): start or repair that control plane, then run the same command again", member.Name, err)
		}
		result, err := h.defragment(ctx, member)
		if err != nil {
			return fmt.Errorf("etcd on %s is not defragmented (%w): see `em-infra status`, and run the same command again when its etcd works", member.Name, err)
		}
		done(result)
	}
	if err := h.allVote(ctx, members); err != nil {
		return fmt.Errorf("etcd is defragmented, but not whole (%w): start or repair that control plane, and look again with `em-infra status`", err)
	}
	return nil
}

// leaderLast returns the members with the leader at the end: each change of the leader is an election.
func (h Health) leaderLast(ctx context.Context, members []EtcdMember) ([]EtcdMember, error) {
	order := slices.Clone(members)
	for i, member := range order {
		leads := false
		err := h.askEtcd(ctx, member.Address, func(ctx context.Context, api *client.Client) (err error) {
			leads, err = isLeader(ctx, api)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		if leads {
			return append(slices.Delete(order, i, i+1), member), nil
		}
	}
	return order, nil
}

// allVote returns an error for each member that is silent, has no vote, or has no leader.
func (h Health) allVote(ctx context.Context, members []EtcdMember) error {
	var problems []error
	for _, member := range members {
		if err := h.askEtcd(ctx, member.Address, votesApartFromAlarms); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", member.Name, err))
		}
	}
	return errors.Join(problems...)
}

func (h Health) defragment(ctx context.Context, member EtcdMember) (Defragmented, error) {
	result := Defragmented{Node: member.Name}
	err := h.askEtcd(ctx, member.Address, func(ctx context.Context, api *client.Client) (err error) {
		result.Before, _, err = sizeOf(ctx, api)
		return err
	})
	if err != nil {
		return result, err
	}
	err = AskEtcdFor(ctx, defragmentTimeout, h.Talosconfig, member.Address, func(ctx context.Context, api *client.Client) error {
		if _, err := api.EtcdDefragment(ctx); err != nil {
			return err
		}
		result.After, result.InUse, err = sizeOf(ctx, api)
		return err
	})
	return result, err
}

// sizeOf returns the size of the database of the node's member, and how much of it is in use.
func sizeOf(ctx context.Context, api *client.Client) (total, used int64, err error) {
	answer, err := api.EtcdStatus(ctx)
	for _, message := range answer.GetMessages() {
		total, used = message.GetMemberStatus().GetDbSize(), message.GetMemberStatus().GetDbSizeInUse()
	}
	return total, used, err
}
