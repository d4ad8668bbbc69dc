package nodeops_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// A reboot of one of two members takes the majority away. It waits for the control plane that is about to join.
func TestAControlPlaneRebootsWhenEtcdKeepsItsMajority(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, members, controlPlanes, want string }{
		{"the only one", "cp-1", "cp-1", ""},
		{"one of three", "cp-1 cp-2 cp-3", "cp-1 cp-2 cp-3", ""},
		{"before another one joins", "cp-1", "cp-1 cp-2 cp-3", ""},
		{"one of two, until the third has joined", "cp-1 cp-2", "cp-1 cp-2 cp-3", "etcd has 2 members, no majority without cp-1, and cp-3 is no member yet"},
		{"one of two, while the third joins", "cp-1 cp-2 cp-3+", "cp-1 cp-2 cp-3", ""},
		{"one of two, while the other one leaves", "cp-1 cp-2", "cp-1", ""},
		{"one of four, while another one leaves", "cp-1 cp-2 cp-3 cp-4", "cp-1 cp-2 cp-3", ""},
		{"one that is no member", "cp-2 cp-3", "cp-1 cp-2 cp-3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := nodeops.KeepsMajority(strings.Fields(test.members), strings.Fields(test.controlPlanes), "cp-1")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

// TestControlPlanesThatSayNothingHoldNobodyUp: those of a member that does are known at once, also while others that are listed before it accept
// connections and say nothing.
func TestControlPlanesThatSayNothingHoldNobodyUp(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	for _, deaf := range []string{"127.193.79.1", "127.193.79.2"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(deaf, strconv.Itoa(constants.ApidPort)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		health.Nodes = slices.Insert(health.Nodes, 0, rolling.Node{Name: deaf, Address: netip.MustParseAddr(deaf), ControlPlane: true})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // one that is silent takes five at least
	defer cancel()
	members, err := health.Members(ctx)
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Empty(t, members[0].Problem)
}
