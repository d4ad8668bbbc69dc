package components_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestASnapshotThatWasNotTakenIsTakenLater: where there is no etcd yet, a change goes on without one, and the next one looks again.
func TestASnapshotThatWasNotTakenIsTakenLater(t *testing.T) {
	t.Parallel()

	c := talostest.NewCluster(t, "v1.12.4", constants.DefaultKubernetesVersion, talos.Config{})
	const vmid = talostest.First + 1 // the first one would be bootstrapped
	c.Join(vmid, onlyControlPlane, machinetype.TypeControlPlane)
	node := rolling.Node{Name: onlyControlPlane, Address: c.Address(vmid), ControlPlane: true}
	health := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: []rolling.Node{node}, Say: func(string, ...any) {}}
	kept := 0
	before := components.SnapshotsBefore(func(_ context.Context, taken components.EtcdSnapshot) (string, error) {
		kept++
		return "", taken.Take(io.Discard)
	})
	wait := nodeops.SnapshotWait{Works: time.Minute, Starts: 2 * time.Second}
	began := time.Now()
	require.NoError(t, before(t.Context(), node, health, wait))
	require.GreaterOrEqual(t, time.Since(began), wait.Starts)

	wait.Starts = 10 * time.Minute
	require.NoError(t, before(t.Context(), node, health, wait), "one wait is enough")
	require.Zero(t, kept)

	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("the run was interrupted"))
	require.EqualError(t, before(interrupted, node, health, wait),
		onlyControlPlane+" is untouched, because no snapshot of etcd could be kept before (the run was interrupted): mend that, then run up again")

	polltest.Succeeds(t, func() error { return c.Admin(vmid).Bootstrap(t.Context(), &machine.BootstrapRequest{}) })
	polltest.Until(t, func() bool { return before(t.Context(), node, health, wait) == nil && kept > 0 })
	require.NoError(t, before(t.Context(), node, health, wait))
	require.Equal(t, 1, kept, "one in a run")
}
