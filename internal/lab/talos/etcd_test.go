package talos_test

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// members returns the member list of one node: hostname → learner.
func (c *cluster) members(vmid int) map[string]bool {
	c.lab.t.Helper()

	members, err := c.listMembers(vmid)
	require.NoError(c.lab.t, err)

	return members
}

func (c *cluster) listMembers(vmid int) (map[string]bool, error) {
	answer, err := c.admin(vmid).EtcdMemberList(c.lab.t.Context(), &machine.EtcdMemberListRequest{})
	if err != nil {
		return nil, err
	}

	members := map[string]bool{}
	for _, member := range answer.GetMessages()[0].GetMembers() {
		members[member.GetHostname()] = member.GetIsLearner()
	}

	return members, nil
}

func (c *cluster) waitMembers(vmid int, want map[string]bool) {
	c.lab.t.Helper()
	c.lab.eventually(func() bool {
		members, err := c.listMembers(vmid)

		return err == nil && maps.Equal(members, want)
	}, "the members do not become %v", want)
}

// threeControlPlanes returns a cluster whose etcd has three voters.
func (l *lab) threeControlPlanes() *cluster {
	l.t.Helper()

	c := l.controlPlaneUp("ha")
	l.install(102, c.controlPlane())
	l.install(103, c.controlPlane())
	c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false})

	return c
}

func TestControlPlanesJoinEtcd(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()

	for _, vmid := range []int{101, 102, 103} {
		c.waitHealthy(vmid, "etcd")
		require.Equal(t, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false}, c.members(vmid))

		err := c.admin(vmid).Bootstrap(t.Context(), &machine.BootstrapRequest{})
		require.Equal(t, codes.AlreadyExists, status.Code(err), "%v", err)
	}

	answer, err := c.admin(102).EtcdMemberList(t.Context(), &machine.EtcdMemberListRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"https://" + l.address(101).String() + ":2380"}, answer.GetMessages()[0].GetMembers()[0].GetPeerUrls())
	require.Equal(t, []string{"https://" + l.address(101).String() + ":2379"}, answer.GetMessages()[0].GetMembers()[0].GetClientUrls())
}

// TestQuorum: the cluster works with two of three members, not with one, and recovers when another one starts again.
func TestQuorum(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()

	require.NoError(t, l.fleet.PowerOff(103))
	require.Len(t, c.members(101), 3, "a member that is off is still one")

	require.NoError(t, l.fleet.PowerOff(102))
	l.eventually(func() bool {
		_, healthy := c.serviceState(101, "etcd")

		return !healthy
	}, "etcd does not come to that")

	_, err := c.admin(101).EtcdMemberList(t.Context(), &machine.EtcdMemberListRequest{})
	require.EqualError(t, err, "rpc error: code = Unknown desc = etcdserver: no leader")

	l.powerOn(102)
	c.waitHealthy(101, "etcd")
	require.Len(t, c.members(101), 3)
}

// TestMemberOfADestroyedMachine checks that the member stays in the list until it is removed.
func TestMemberOfADestroyedMachine(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()

	require.NoError(t, l.fleet.Destroy(103))
	require.Len(t, c.members(101), 3)

	list, err := c.admin(101).EtcdMemberList(t.Context(), &machine.EtcdMemberListRequest{})
	require.NoError(t, err)

	var gone uint64

	for _, member := range list.GetMessages()[0].GetMembers() {
		if member.GetHostname() == "vm-103" {
			gone = member.GetId()
		}
	}

	remove := func(id uint64) error {
		return c.admin(101).EtcdRemoveMemberByID(t.Context(), &machine.EtcdRemoveMemberByIDRequest{MemberId: id})
	}
	require.NoError(t, remove(gone))
	require.Equal(t, map[string]bool{"vm-101": false, "vm-102": false}, c.members(101))
	require.Equal(t, codes.NotFound, status.Code(remove(gone)))
}

// TestRecreatedControlPlaneJoinsAgain: Talos removes the former member of the same name.
func TestRecreatedControlPlaneJoinsAgain(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()

	require.NoError(t, l.fleet.Destroy(103))
	l.install(103, c.controlPlane())
	l.waitStage(103, talos.StageRunning)
	c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false})
	c.waitHealthy(103, "etcd")
}

// TestGracefulResetLeavesEtcd also checks that the last member cannot leave.
func TestGracefulResetLeavesEtcd(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()

	require.NoError(t, c.admin(103).Reset(t.Context(), true, false))
	l.waitStage(103, talos.StageOff)
	require.Equal(t, map[string]bool{"vm-101": false, "vm-102": false}, c.members(101))

	require.NoError(t, c.admin(102).Reset(t.Context(), true, false))
	l.waitStage(102, talos.StageOff)
	require.Equal(t, map[string]bool{"vm-101": false}, c.members(101))

	boot, member := c.bootID(101), c.memberID(101)
	require.NoError(t, c.admin(101).Reset(t.Context(), true, false))
	l.eventually(func() bool {
		return l.log.has("failure", "error running phase 4 in reset sequence: task 1/1: failed, failed to leave cluster: failed to remove member "+
			member+": etcdserver: re-configuration failed due to not enough started members")
	}, "etcd does not come to that")
	c.waitNewBoot(101, boot) // a sequence that fails ends the boot
	c.waitHealthy(101, "etcd")
	require.Equal(t, map[string]bool{"vm-101": false}, c.members(101))
}

func (c *cluster) memberID(vmid int) string {
	c.lab.t.Helper()

	answer, err := c.admin(vmid).MachineClient.EtcdStatus(c.lab.t.Context(), &emptypb.Empty{})
	require.NoError(c.lab.t, err)

	return strconv.FormatUint(answer.GetMessages()[0].GetMemberStatus().GetMemberId(), 10)
}

// TestLearnerStuck sets a fault: the joined member is never promoted, and no other can join meanwhile.
func TestLearnerStuck(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultLearnerStuck, VMID: 102}))

	c := l.controlPlaneUp("ha")
	l.install(102, c.controlPlane())
	c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": true})

	l.install(103, c.controlPlane())
	l.waitStage(103, talos.StageRunning)

	l.eventually(func() bool { state, _ := c.serviceState(103, "etcd"); return state == "Preparing" }, "etcd does not wait")

	for range 10 {
		require.Equal(t, map[string]bool{"vm-101": false, "vm-102": true}, c.members(101))
		time.Sleep(5 * time.Millisecond)
	}
}

// TestLearnerIsPromotedLater: a failed promotion is retried.
func TestLearnerIsPromotedLater(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultLearnerStuck, Times: 3}))

	c := l.controlPlaneUp("ha")
	l.install(102, c.controlPlane())
	c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false})
	require.True(t, l.log.has("etcd-promote", "hangs, as a fault wants it"))
}

// TestEtcdOnWorkers checks that etcd calls fail on workers.
func TestEtcdOnWorkers(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	_, err := c.admin(102).EtcdMemberList(t.Context(), &machine.EtcdMemberListRequest{})
	require.EqualError(t, err, "rpc error: code = Unimplemented desc = member list is only available on control plane nodes")

	l.eventually(func() bool {
		err = c.admin(102).Bootstrap(t.Context(), &machine.BootstrapRequest{})

		return status.Convert(err).Message() != "bootstrap is not available yet"
	}, "etcd does not come to that")
	require.EqualError(t, err, "rpc error: code = FailedPrecondition desc = bootstrap can only be performed on a control plane node")
}

// TestBeforeBootstrap: etcd does not answer, and the node reports why it is not ready.
func TestBeforeBootstrap(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)

	_, err := c.admin(101).Version(t.Context()) // it is connected
	require.NoError(t, err)

	short, end := context.WithTimeout(t.Context(), time.Second)
	defer end()

	_, err = c.admin(101).EtcdMemberList(short, &machine.EtcdMemberListRequest{})
	require.EqualError(t, err, "rpc error: code = DeadlineExceeded desc = context deadline exceeded", "it waits for etcd")

	l.eventually(func() bool {
		state, _ := c.serviceState(101, "etcd")

		return state == "Preparing"
	}, "etcd does not come to that")
}
