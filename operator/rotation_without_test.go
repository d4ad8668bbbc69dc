package operator_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator"
)

// TestLeaveOut: a rotation leaves out nodes that are lost for good, and no others.
func TestLeaveOut(t *testing.T) {
	t.Parallel()
	answering, control := talostest.FreeAddress(t, 21), talostest.FreeAddress(t, 11)
	listener, err := net.Listen("tcp", netip.AddrPortFrom(answering, constants.ApidPort).String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	all := []rolling.Node{
		{Name: "control-1", Address: control, ControlPlane: true}, {Name: "worker-1", Address: answering}, {Name: "worker-2", Address: control},
	}
	for _, test := range []struct {
		name    string
		without []string
		stay    []rolling.Node
		left    []rolling.Node
		problem string
	}{
		{"nothing is named", nil, all, nil, ""},
		{"a worker that is off", []string{"worker-2"}, all[:2], all[2:], ""},
		{"a node that answers", []string{"worker-1"}, nil, nil, "--without worker-1: it answers at " + answering.String() + ", and would run on with the former secrets: stop its machine if it is to be deleted, or leave the flag out"},
		{"a wrong name", []string{"worker-3"}, nil, nil, "--without worker-3: no node of the cluster has this name: its nodes are control-1, worker-1, worker-2"},
		{"the only control plane", []string{"control-1"}, nil, nil, "--without: no control plane would be left, and etcd with it: bring one back, or go back to the cluster from before the rotation with `em-infra state restore` and `em-infra etcd restore`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stay, left, err := operator.LeaveOut(t.Context(), all, test.without)
			if test.problem != "" {
				require.EqualError(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.stay, stay)
			require.Equal(t, test.left, left)
		})
	}
}
