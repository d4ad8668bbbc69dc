package talos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// EtcdMemberList returns the member list of the cluster.
func (m *machinedServer) EtcdMemberList(context.Context, *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	if err := m.needControlPlane("member list"); err != nil {
		return nil, err
	}

	cluster, err := m.system.etcdCluster()
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
// with a running etcd. Talos asks them in random order, which only matters if they belong to different clusters. The error is
// that of Talos' etcd client when no endpoint listens.
func (s *system) etcdCluster() (uint64, error) {
	endpoints, _ := s.controlPlanes(s.config())
	if len(endpoints) == 0 {
		return 0, errors.New("no controlplane endpoints discovered yet")
	}

	if own := s.etcdData(); s.fleet.etcdRuns(own) {
		return own.Cluster, nil
	}

	for _, endpoint := range endpoints {
		other := s.fleet.systemAt(endpoint)
		if other == nil || other.config() == nil || !s.sameEtcd(s.config(), other) {
			continue
		}

		if data := other.etcdData(); s.fleet.etcdRuns(data) {
			return data.Cluster, nil
		}
	}

	return 0, refused(endpoints[0])
}

func (f *Fleet) etcdRuns(data etcd.Data) bool {
	_, err := f.etcd.Status(data)

	return err == nil
}

func refused(endpoint netip.Addr) error {
	return status.Errorf(codes.Unavailable,
		"connection error: desc = \"transport: Error while dialing: dial tcp %s: connect: connection refused\"",
		netip.AddrPortFrom(endpoint, constants.EtcdClientPort))
}

// EtcdRemoveMemberByID removes a member, whose node may be gone.
func (m *machinedServer) EtcdRemoveMemberByID(
	_ context.Context, in *machine.EtcdRemoveMemberByIDRequest,
) (*machine.EtcdRemoveMemberByIDResponse, error) {
	if err := m.needControlPlane("etcd remove member"); err != nil {
		return nil, err
	}

	cluster, err := m.system.etcdCluster()
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
	context.Context, *machine.EtcdForfeitLeadershipRequest,
) (*machine.EtcdForfeitLeadershipResponse, error) {
	if err := m.needControlPlane("etcd forfeit leadership"); err != nil {
		return nil, err
	}

	data := m.system.etcdData()

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

	s, err := m.system.fleet.etcd.Status(m.system.etcdData())
	if err != nil {
		return nil, fmt.Errorf("failed to query etcd status: %w", refused(netip.AddrFrom4([4]byte{127, 0, 0, 1})))
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
