package talos

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// raiseAlarms makes this node's member look at its database, which a fault may have filled or damaged.
func (s *system) raiseAlarms(ctx context.Context) error {
	data := s.etcdData()
	if !s.fleet.etcdRuns(data) {
		return nil
	}

	switch s.vm.effect(StepEtcdData).Alarm {
	case etcd.NoSpace:
		s.fleet.etcd.Fill(data)
	case etcd.Corrupt:
		s.fleet.etcd.Damage(data)
	default:
		return nil
	}

	return s.followAlarms(ctx, data.Cluster)
}

// followAlarms gives the etcd that holds the data the alarms of the cluster, and saves them.
func (s *system) followAlarms(ctx context.Context, cluster uint64) error {
	alarms, err := s.fleet.etcd.Alarms(cluster)
	if err != nil {
		return err
	}

	var kinds []etcd.AlarmKind
	for _, alarm := range alarms {
		kinds = append(kinds, alarm.Kind)
	}

	return errors.Join(s.fleet.saveEtcd(), s.fleet.config.Kubernetes.SetEtcdAlarms(ctx, etcd.FormatID(cluster), kinds))
}

// EtcdAlarmList lists the alarms of the cluster (v1alpha1_server.go, EtcdAlarmList).
func (m *machinedServer) EtcdAlarmList(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	if err := m.needControlPlane("etcd alarm list"); err != nil {
		return nil, err
	}

	err := m.system.raiseAlarms(ctx)

	var alarms []*machine.EtcdMemberAlarm
	if err == nil {
		alarms, err = m.system.localAlarms(ctx, m.system.fleet.etcd.Alarms)
	}

	if err != nil {
		return nil, fmt.Errorf("failed to list etcd alarms: %w", err)
	}

	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{{MemberAlarms: alarms}}}, nil
}

// EtcdAlarmDisarm ends all alarms of the cluster and returns them (same file, EtcdAlarmDisarm; the name in its refusal is Talos' own).
func (m *machinedServer) EtcdAlarmDisarm(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdAlarmDisarmResponse, error) {
	if err := m.needControlPlane("etcd alarm list"); err != nil {
		return nil, err
	}

	alarms, err := m.system.localAlarms(ctx, m.system.fleet.etcd.Disarm)
	if err == nil {
		err = m.system.followAlarms(ctx, m.system.etcdData().Cluster)
	}

	if err != nil {
		return nil, fmt.Errorf("failed to disarm etcd alarm: %w", err)
	}

	return &machine.EtcdAlarmDisarmResponse{Messages: []*machine.EtcdAlarmDisarm{{MemberAlarms: alarms}}}, nil
}

// localAlarms calls this node's own member when it runs.
func (s *system) localAlarms(ctx context.Context, call func(cluster uint64) ([]etcd.Alarm, error)) ([]*machine.EtcdMemberAlarm, error) {
	data, err := s.untilOwnEtcdListens(ctx)
	if err != nil {
		return nil, err
	}

	alarms, err := call(data.Cluster)
	if err != nil {
		return nil, err
	}

	var listed []*machine.EtcdMemberAlarm
	for _, alarm := range alarms {
		listed = append(listed, &machine.EtcdMemberAlarm{
			MemberId: alarm.Member, Alarm: machine.EtcdMemberAlarm_AlarmType(machine.EtcdMemberAlarm_AlarmType_value[string(alarm.Kind)]),
		})
	}

	return listed, nil
}

// EtcdDefragment rewrites the database of this node's member without its free pages (same file, EtcdDefragment).
func (m *machinedServer) EtcdDefragment(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdDefragmentResponse, error) {
	if err := m.needControlPlane("etcd defragment"); err != nil {
		return nil, err
	}

	data, err := m.system.untilOwnEtcdListens(ctx)
	if err == nil {
		err = m.system.fleet.etcd.Defragment(data)
	}

	if err == nil {
		err = errors.Join(m.system.fleet.saveEtcd(), m.system.fleet.config.Kubernetes.DefragmentEtcd(ctx, etcd.FormatID(data.Cluster)))
	}

	if err != nil {
		return nil, fmt.Errorf("failed to defragment etcd: %w", err)
	}

	return &machine.EtcdDefragmentResponse{Messages: []*machine.EtcdDefragment{{}}}, nil
}
