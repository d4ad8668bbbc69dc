package nodeops_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// withFaults has the fleet take faults from a set.
func withFaults(set *fault.Set) func(*talos.Config, *talos.Hardware) {
	return func(config *talos.Config, _ *talos.Hardware) { config.Faults = talos.NewFaultSet(set, nil) }
}

func TestEtcdIsDefragmentedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	m := powerOn(t, withFaults(faults))
	require.EqualError(t, m.health().DefragmentEtcd(t.Context(), nil), "etcd runs on no control plane that answers: see `em-infra status`", "there is none yet")
	m.bringUp()
	second := m.further(2, freeAddress(t))
	m.join(second, 2)
	third := m.further(3, freeAddress(t))
	m.join(third, 3)
	health := m.health()
	health.Nodes = append(health.Nodes, second, third)

	require.NoError(t, faults.Set(fault.Fault{Name: talos.FaultEtcdFull, VMID: vmid, Times: 1}))
	members, err := health.Members(t.Context())
	require.NoError(t, err)
	const full = "etcd has reached the quota of its database and takes no writes: `em-infra etcd defragment` frees it"
	for _, member := range members {
		require.Equal(t, full, member.Problem, "every member reports the alarm of one")
	}
	alarms, err := health.EtcdAlarms(t.Context(), members)
	require.NoError(t, err)
	require.Equal(t, []nodeops.EtcdAlarm{{Member: members[0].ID, Node: "k3s-dev-control-1", Kind: nodeops.AlarmNoSpace}}, alarms)

	disarmed, err := health.DisarmEtcd(t.Context())
	require.NoError(t, err)
	require.Equal(t, alarms, disarmed)
	back, err := health.EtcdAlarms(t.Context(), members)
	require.NoError(t, err)
	require.Equal(t, alarms, back, "the database is as large as before")

	var done []nodeops.Defragmented
	require.NoError(t, health.DefragmentEtcd(t.Context(), func(d nodeops.Defragmented) { done = append(done, d) }))
	require.Equal(t, []nodeops.Defragmented{
		{Node: second.Name, Before: 24 << 20, After: 24 << 20, InUse: 24 << 20},
		{Node: third.Name, Before: 24 << 20, After: 24 << 20, InUse: 24 << 20},
		{Node: "k3s-dev-control-1", Before: 2 << 30, After: 24 << 20, InUse: 24 << 20},
	}, done, "the leader last")
	_, err = health.DisarmEtcd(t.Context())
	require.NoError(t, err)
	members, err = health.Members(t.Context())
	require.NoError(t, err)
	for _, member := range members {
		require.Empty(t, member.Problem)
	}

	require.NoError(t, m.fleet.PowerOff(vmid+1))
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return false, nil }
	done = nil
	err = health.DefragmentEtcd(t.Context(), func(d nodeops.Defragmented) { done = append(done, d) })
	require.ErrorContains(t, err, second.Name+": ")
	require.Empty(t, done, "etcd could not do without another one")
}

func TestCorruptDataAreNotDisarmed(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	m := powerOn(t, withFaults(faults))
	m.bringUp()
	health := m.health()
	back, err := health.DisarmEtcd(t.Context())
	require.NoError(t, err, "nothing to disarm")
	require.Empty(t, back)

	require.NoError(t, faults.Set(fault.Fault{Name: talos.FaultEtcdCorrupt, VMID: vmid, Times: 1}))
	members, err := health.Members(t.Context())
	require.NoError(t, err)
	const corrupt = "etcd has found corrupt data and refuses requests: `em-infra etcd disarm` says which member has them, and what to do"
	require.Equal(t, corrupt, members[0].Problem)
	require.EqualError(t, health.DefragmentEtcd(t.Context(), nil), corrupt)
	_, err = health.DisarmEtcd(t.Context())
	require.EqualError(t, err, "the data of etcd on k3s-dev-control-1 differ from those of the others: there is no other member with its data: find a snapshot from before the corruption with `em-infra etcd list`, and restore it with `em-infra etcd restore --from NAME`")
}
