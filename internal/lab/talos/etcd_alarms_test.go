package talos_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// alarms returns the kinds of alarms that a control plane lists.
func (c *cluster) alarms(vmid int) []string {
	c.lab.t.Helper()

	answer, err := c.admin(vmid).EtcdAlarmList(c.lab.t.Context())
	require.NoError(c.lab.t, err)

	var kinds []string
	for _, alarm := range answer.GetMessages()[0].GetMemberAlarms() {
		kinds = append(kinds, alarm.GetAlarm().String())
	}

	return kinds
}

// status returns what a member reports of itself.
func (c *cluster) status(vmid int) *machine.EtcdMemberStatus {
	c.lab.t.Helper()

	answer, err := c.admin(vmid).EtcdStatus(c.lab.t.Context())
	require.NoError(c.lab.t, err)

	return answer.GetMessages()[0].GetMemberStatus()
}

// TestEtcdOutOfSpace: an alarm that is disarmed before the database is smaller comes back.
func TestEtcdOutOfSpace(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.Empty(t, c.alarms(101))
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultEtcdFull, VMID: 101, Times: 1}))
	require.Equal(t, []string{"NOSPACE"}, c.alarms(101))

	full := c.status(101)
	require.EqualValues(t, 2<<30, full.GetDbSize())
	require.Less(t, full.GetDbSizeInUse(), full.GetDbSize())
	require.Len(t, full.GetErrors(), 1)
	require.Regexp(t, `^memberID:\d+ alarm:NOSPACE $`, full.GetErrors()[0])

	disarmed, err := c.admin(101).EtcdAlarmDisarm(t.Context())
	require.NoError(t, err)
	require.Len(t, disarmed.GetMessages()[0].GetMemberAlarms(), 1)
	require.Equal(t, []string{"NOSPACE"}, c.alarms(101))

	_, err = c.admin(101).EtcdDefragment(t.Context())
	require.NoError(t, err)
	require.Equal(t, full.GetDbSizeInUse(), c.status(101).GetDbSize())
	require.Equal(t, []string{"NOSPACE"}, c.alarms(101), "an alarm stays until it is disarmed")
	_, err = c.admin(101).EtcdAlarmDisarm(t.Context())
	require.NoError(t, err)
	require.Empty(t, c.alarms(101))
}

func TestEtcdCorrupt(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultEtcdCorrupt, VMID: 101, Times: 1}))
	require.Equal(t, []string{"CORRUPT"}, c.alarms(101))
	_, err := c.admin(101).EtcdAlarmDisarm(t.Context())
	require.NoError(t, err)
	require.Empty(t, c.alarms(101))

	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	_, err = c.admin(102).EtcdDefragment(t.Context())
	require.ErrorContains(t, err, "etcd defragment is only available on control plane nodes")
}
