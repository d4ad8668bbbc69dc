package upgrade

import (
	"context"
	"fmt"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// prepareEtcd checks that all members of etcd have started and that it has no alarm, and hands on its leadership. Talos itself
// checks the health of the members when it is ordered to upgrade, and refuses at two members.
func (n Node) prepareEtcd(ctx context.Context) error {
	if !n.ControlPlane {
		return nil
	}
	var to string
	err := nodeops.AskEtcd(ctx, n.Talosconfig, n.Address, func(ctx context.Context, api *client.Client) error {
		members, err := startedMembers(ctx, api)
		if err != nil {
			return err
		}
		if err := noAlarm(ctx, api); err != nil || members < 2 {
			return err
		}
		to, err = nodeops.HandOnLeadership(ctx, api)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s is untouched, because etcd cannot do without it now (%w): mend that, then run up again", n.Name, err)
	}
	if to != "" {
		n.say("%s has handed the leadership of etcd to %s", n.Name, to)
	}
	return nil
}

// startedMembers counts the members. A member without a name has not started yet.
func startedMembers(ctx context.Context, api *client.Client) (count int, err error) {
	list, err := api.EtcdMemberList(ctx, &machineapi.EtcdMemberListRequest{})
	if err != nil {
		return 0, err
	}
	for _, message := range list.GetMessages() {
		for _, member := range message.GetMembers() {
			switch {
			case member.GetHostname() == "":
				return 0, fmt.Errorf("etcd member %016x has not started", member.GetId())
			case member.GetIsLearner():
				return 0, fmt.Errorf("etcd member %s is a learner, without a vote yet", member.GetHostname())
			}
			count++
		}
	}
	return count, nil
}

// noAlarm returns an alarm of etcd: a member without room takes no more writes, and might not start again.
func noAlarm(ctx context.Context, api *client.Client) error {
	list, err := api.EtcdAlarmList(ctx)
	if err != nil {
		return err
	}
	for _, message := range list.GetMessages() {
		for _, alarm := range message.GetMemberAlarms() {
			return fmt.Errorf("etcd member %016x has the alarm %s", alarm.GetMemberId(), alarm.GetAlarm())
		}
	}
	return nil
}
