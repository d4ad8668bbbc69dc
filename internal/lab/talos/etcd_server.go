package talos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// EtcdMemberList returns the member list of the cluster.
func (m *machinedServer) EtcdMemberList(ctx context.Context, _ *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	if err := m.needControlPlane("member list"); err != nil {
		return nil, err
	}

	cluster, err := m.system.etcdCluster(ctx)
	if err != nil {
		return nil, err
	}

	members, err := m.system.fleet.etcd.Members(cluster)
	if err != nil {
		return nil, err
	}

	list := &machine.EtcdMembers{}
	for _, member := range members {
		list.LegacyMembers = append(list.LegacyMembers, member.Name)
		list.Members = append(list.Members, &machine.EtcdMember{
			Id: member.ID, Hostname: member.Name, IsLearner: member.Learner,
			PeerUrls: []string{member.PeerURL()}, ClientUrls: clientURLs(member),
		})
	}

	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{list}}, nil
}

func clientURLs(member etcd.Member) []string {
	if url := member.ClientURL(); url != "" {
		return []string{url}
	}

	return nil
}

// etcdCluster returns the cluster that a client on this node reaches: its own member's, or that of the first control plane
// with a running etcd. Talos asks them in random order, which only matters if they belong to different clusters. While no
// endpoint listens, it waits.
func (s *system) etcdCluster(ctx context.Context) (cluster uint64, err error) {
	err = s.fleet.untilEtcdListens(ctx, func() (listens bool, err error) {
		endpoints, _ := s.controlPlanes(s.config())
		if len(endpoints) == 0 {
			return false, errors.New("no controlplane endpoints discovered yet")
		}

		cluster, listens = s.reachedEtcd(endpoints)

		return listens, nil
	})

	return cluster, err
}

// untilEtcdListens looks at etcd until it listens or the call ends. Talos' client of etcd waits for a connection in place of failing
// (go.etcd.io/etcd/client/v3 v3.6.6, options.go, defaultWaitForReady), so a call of an etcd that does not run takes as long as its
// caller waits.
func (f *Fleet) untilEtcdListens(ctx context.Context, look func() (listens bool, err error)) error {
	for {
		changed := f.etcd.Changed()

		listens, err := look()
		if err != nil || listens {
			return err
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// untilOwnEtcdListens waits for this node's own member, and returns its data.
func (s *system) untilOwnEtcdListens(ctx context.Context) (data etcd.Data, err error) {
	err = s.fleet.untilEtcdListens(ctx, func() (bool, error) {
		data = s.etcdData()

		return s.fleet.etcdRuns(data), nil
	})

	return data, err
}

func (s *system) reachedEtcd(endpoints []netip.Addr) (cluster uint64, listens bool) {
	if own := s.etcdData(); s.fleet.etcdRuns(own) {
		return own.Cluster, true
	}

	for _, endpoint := range endpoints {
		other := s.fleet.systemAt(endpoint)
		if other == nil || other.config() == nil || !s.sameEtcd(s.config(), other) {
			continue
		}

		if data := other.etcdData(); s.fleet.etcdRuns(data) {
			return data.Cluster, true
		}
	}

	return 0, false
}

func (f *Fleet) etcdRuns(data etcd.Data) bool {
	_, err := f.etcd.Status(data)

	return err == nil
}

// EtcdRemoveMemberByID removes a member, whose node may be gone.
func (m *machinedServer) EtcdRemoveMemberByID(
	ctx context.Context, in *machine.EtcdRemoveMemberByIDRequest,
) (*machine.EtcdRemoveMemberByIDResponse, error) {
	if err := m.needControlPlane("etcd remove member"); err != nil {
		return nil, err
	}

	cluster, err := m.system.etcdCluster(ctx)
	if err != nil {
		return nil, err
	}

	if err := m.system.fleet.etcd.Remove(cluster, in.GetMemberId()); err != nil {
		err = fmt.Errorf("failed to remove member %d: %w", in.GetMemberId(), err)
		if errors.Is(err, etcd.ErrMemberNotFound) {
			return nil, status.Error(codes.NotFound, err.Error())
		}

		return nil, fmt.Errorf("failed to remove member: %w", err)
	}

	if err := m.system.fleet.saveEtcd(); err != nil {
		return nil, err
	}

	return &machine.EtcdRemoveMemberByIDResponse{Messages: []*machine.EtcdRemoveMemberByID{{}}}, nil
}

// EtcdLeaveCluster removes this node from the etcd cluster.
func (m *machinedServer) EtcdLeaveCluster(
	ctx context.Context, _ *machine.EtcdLeaveClusterRequest,
) (*machine.EtcdLeaveClusterResponse, error) {
	if err := m.needControlPlane("etcd leave"); err != nil {
		return nil, err
	}

	if err := m.system.leaveEtcd(ctx); err != nil {
		return nil, err
	}

	return &machine.EtcdLeaveClusterResponse{Messages: []*machine.EtcdLeaveCluster{{}}}, nil
}

// EtcdForfeitLeadership moves the leadership to another member, if this node has it.
func (m *machinedServer) EtcdForfeitLeadership(
	ctx context.Context, _ *machine.EtcdForfeitLeadershipRequest,
) (*machine.EtcdForfeitLeadershipResponse, error) {
	if err := m.needControlPlane("etcd forfeit leadership"); err != nil {
		return nil, err
	}

	data, err := m.system.untilOwnEtcdListens(ctx) // for the ID of the member (internal/pkg/etcd/local.go)
	if err != nil {
		return nil, fmt.Errorf("failed to get local etcd member ID: %w", err)
	}

	members, err := m.system.fleet.etcd.Members(data.Cluster)
	if err == nil && len(members) == 1 {
		err = errors.New("cannot forfeit leadership, only one member")
	}

	var next string
	if err == nil {
		next, err = m.system.fleet.etcd.MoveLeader(data)
	}

	if err != nil {
		return nil, fmt.Errorf("failed to forfeit leadership: %w", err)
	}

	return &machine.EtcdForfeitLeadershipResponse{Messages: []*machine.EtcdForfeitLeadership{{Member: next}}}, nil
}

// EtcdStatus returns the status of this node's member.
func (m *machinedServer) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	if err := m.needControlPlane("etcd status"); err != nil {
		return nil, err
	}

	if err := m.system.raiseAlarms(ctx); err != nil {
		return nil, fmt.Errorf("failed to query etcd status: %w", err)
	}

	data, err := m.system.untilOwnEtcdListens(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to query etcd status: %w", err)
	}

	s, err := m.system.fleet.etcd.Status(data)
	if err != nil {
		return nil, fmt.Errorf("failed to query etcd status: %w", err)
	}

	answer := &machine.EtcdMemberStatus{
		MemberId: s.Member.ID, ProtocolVersion: etcdVersion, StorageVersion: storageVersion,
		Leader: s.Leader, RaftTerm: s.Term, RaftIndex: s.Changes, RaftAppliedIndex: s.Changes, IsLearner: s.Member.Learner,
		DbSize: s.Size, DbSizeInUse: s.InUse,
	}
	if s.Leader == 0 {
		answer.Errors = []string{etcd.ErrNoLeader.Error()}
	}

	for _, alarm := range s.Alarms {
		answer.Errors = append(answer.Errors, alarm.String())
	}

	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: answer}}}, nil
}

// Versions of etcd in Talos v1.12 (machinery constants.DefaultEtcdVersion, without its v).
const (
	etcdVersion    = "3.6.7"
	storageVersion = "3.6.0"
)
