package nodeops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Alarm is the kind of an alarm of etcd.
type Alarm string

// The alarms of etcd.
const (
	// AlarmNoSpace means that the database of a member has reached its quota: etcd takes no writes until it is disarmed.
	AlarmNoSpace Alarm = "NOSPACE"
	// AlarmCorrupt means that the data of a member differ from those of the others: etcd refuses requests until it is disarmed.
	AlarmCorrupt Alarm = "CORRUPT"
)

// EtcdAlarm is an alarm of one member.
type EtcdAlarm struct {
	// Member is the ID of the member, which may have left since.
	Member uint64
	// Node is the name of the member's node; empty for a member that has left.
	Node string
	// Kind of the alarm.
	Kind Alarm
}

// errNoEtcd means that etcd runs on no control plane that answers.
var errNoEtcd = errors.New("etcd runs on no control plane that answers: see `em-infra status`")

// EtcdAlarms returns the alarms of etcd, from the first control plane that lists them.
func (h Health) EtcdAlarms(ctx context.Context, members []EtcdMember) ([]EtcdAlarm, error) {
	var listed []*machineapi.EtcdMemberAlarm
	err := h.askFirst(ctx, func(ctx context.Context, api *client.Client) error {
		answer, err := api.EtcdAlarmList(ctx)
		for _, message := range answer.GetMessages() {
			listed = append(listed, message.GetMemberAlarms()...)
		}
		return err
	})
	var alarms []EtcdAlarm
	for _, alarm := range listed {
		found := EtcdAlarm{Member: alarm.GetMemberId(), Kind: Alarm(alarm.GetAlarm().String())}
		if i := slices.IndexFunc(members, func(m EtcdMember) bool { return m.ID == found.Member }); i >= 0 {
			found.Node = members[i].Name
		}
		alarms = append(alarms, found)
	}
	return alarms, err
}

// askFirst calls the first control plane that answers.
func (h Health) askFirst(ctx context.Context, call func(context.Context, *client.Client) error) error {
	var problems []error
	for _, node := range h.controlPlanes(rolling.Node{}) {
		err := h.askEtcd(ctx, node.Address.String(), call)
		if err == nil || ctx.Err() != nil {
			return err
		}
		problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
	}
	return errors.Join(append(problems, errNoEtcd)...)
}

// DisarmEtcd ends the alarms of etcd and returns them. It does not end an alarm about corrupt data while the member with these data belongs to etcd,
// because etcd would return wrong data.
func (h Health) DisarmEtcd(ctx context.Context) ([]EtcdAlarm, error) {
	members, err := h.Members(ctx)
	if err != nil {
		return nil, err
	}
	alarms, err := h.EtcdAlarms(ctx, members)
	if err != nil || len(alarms) == 0 {
		return nil, err
	}
	for _, alarm := range alarms {
		if alarm.Kind == AlarmCorrupt && alarm.Node != "" {
			return nil, fmt.Errorf("the data of etcd on %s differ from those of the others: %s", alarm.Node, corruptRemedy(members, alarm))
		}
	}
	err = h.askFirst(ctx, func(ctx context.Context, api *client.Client) error {
		_, err := api.EtcdAlarmDisarm(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the alarms of etcd are not disarmed: %w", err)
	}
	return alarms, nil
}

// CheckAlarms returns an error that states what etcd has an alarm about, and what to do; nil if it has none, or if no control plane lists them.
func (h Health) CheckAlarms(ctx context.Context) error {
	members, err := h.Members(ctx)
	if err != nil || len(members) == 0 {
		return nil //nolint:nilerr // etcd without a quorum, or none, is not the concern of this check
	}
	alarms, err := h.EtcdAlarms(ctx, members)
	if err != nil || len(alarms) == 0 {
		return nil //nolint:nilerr // as before
	}
	at := max(0, slices.IndexFunc(alarms, func(a EtcdAlarm) bool { return a.Kind == AlarmCorrupt }))
	if alarms[at].Kind == AlarmCorrupt && alarms[at].Node != "" {
		return fmt.Errorf("the data of etcd on %s differ from those of the others: %s", alarms[at].Node, corruptRemedy(members, alarms[at]))
	}
	return errors.New(alarmOf("alarm:" + string(alarms[at].Kind)))
}

// corruptRemedy returns what to do about a member with corrupt data. If there are other members, it joins again and gets their data.
func corruptRemedy(members []EtcdMember, alarm EtcdAlarm) string {
	i := slices.IndexFunc(members, func(m EtcdMember) bool { return m.ID == alarm.Member })
	if i < 0 || len(members) == 1 {
		return "there is no other member with its data: find a snapshot from before the corruption with `em-infra etcd list`, and restore it with `em-infra etcd restore --from NAME`"
	}
	return fmt.Sprintf("take a snapshot of the machine's disk if you want to look at it later, then have it join anew with `talosctl --nodes %s reset --system-labels-to-wipe EPHEMERAL --reboot`, and when `em-infra status` shows it as a member again run `em-infra etcd disarm`",
		members[i].Address)
}

// alarmError is an alarm that a member reports.
type alarmError struct{ sentence string }

func (e *alarmError) Error() string { return e.sentence }

// alarmOf returns a sentence for an alarm among the errors that a member reports, such as "memberID:1 alarm:NOSPACE"; empty for another
// error. All members report the alarms of all.
func alarmOf(reported string) string {
	switch {
	case strings.Contains(reported, "alarm:"+string(AlarmNoSpace)):
		return "etcd has reached the quota of its database and takes no writes: `em-infra etcd defragment` frees it"
	case strings.Contains(reported, "alarm:"+string(AlarmCorrupt)):
		return "etcd has found corrupt data and refuses requests: `em-infra etcd disarm` says which member has them, and what to do"
	default:
		return ""
	}
}
