package etcdrestore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// TestARestoreThatDoesNotEndSaysWhatToDo in one sentence.
func TestARestoreThatDoesNotEndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	restore := etcdrestore.Restore{On: rolling.Node{Name: "control-1"}}
	for _, test := range []struct {
		name string
		why  error
		want string
	}{
		{"its clock is not set", errors.New("its Talos API: time is not in sync yet"), "(its Talos API: time is not in sync yet): see that it reaches the servers of network.timeServers (UDP 123)"},
		{"its clock is wrong", nodeops.ErrUntimely, "(a certificate of its Talos API is not valid at this time): compare the clocks of this computer and of its host"},
		{"it is silent", errors.New("its Talos API does not answer"), "(its Talos API does not answer): see the console of its VM in Proxmox VE"},
		{"no look has ended", nil, "(nothing was seen): see the console of its VM in Proxmox VE"},
	} {
		require.EqualError(t, restore.Unfinished(test.why), "etcd on control-1 does not work with the data of the snapshot "+test.want+", then run `em-infra etcd restore` again; it goes on from here", test.name)
	}
}

// TestARestoreWaitsForTheClock of the node on which etcd starts, without which Talos starts none.
func TestARestoreWaitsForTheClock(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	require.NoError(t, c.faults.Set(fault.Fault{Name: talos.FaultTimeNotInSync}))
	ended := make(chan error, 1)
	go func() { ended <- c.restore().Run(t.Context()) }()
	polltest.Until(t, func() bool { return slices.Contains(c.killer.Writes(), "Bootstrap") }, "it is refused")
	_, err := c.faults.Clear(talos.FaultTimeNotInSync)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	c.awaitMembers(1)
}

// TestTheLeaderChangesDuringARestore: no step depends on it, as all members are emptied.
func TestTheLeaderChangesDuringARestore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	restore := c.restore()
	restore.Limits.Again = time.Second
	moved := make(chan error, 1)
	c.killer.Begin("Reset", false, func() {
		_, err := c.Admin(talostest.First).EtcdForfeitLeadership(t.Context(), &machineapi.EtcdForfeitLeadershipRequest{})
		moved <- err
	})
	require.NoError(t, restore.Run(t.Context()))
	require.NoError(t, <-moved)
	away, err := restore.Join(t.Context())
	require.NoError(t, err)
	require.Empty(t, away)
	c.awaitMembers(3)
}
