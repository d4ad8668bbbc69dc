package nodeops_test

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// TestAControlPlaneRebootsWhenEtcdKeepsItsMajority checks that a reboot of one of two members, which takes the majority away, waits for the control
// plane that is about to join.
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

// TestControlPlanesThatSayNothingHoldUpNoList checks that the list of a control plane that answers arrives before silent control planes have used up
// their time. The silent ones come first in the inventory, accept connections, and send nothing.
func TestControlPlanesThatSayNothingHoldUpNoList(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	var (
		mu    sync.Mutex
		asked []string
		held  []net.Conn // one that is not referenced is closed
	)
	for _, deaf := range []string{"127.193.79.1", "127.193.79.2"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(deaf, strconv.Itoa(constants.ApidPort)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for connection, err := listener.Accept(); err == nil; connection, err = listener.Accept() {
				mu.Lock()
				asked, held = append(asked, deaf), append(held, connection)
				mu.Unlock()
			}
		}()
		health.Nodes = slices.Insert(health.Nodes, 0, rolling.Node{Name: deaf, Address: netip.MustParseAddr(deaf), ControlPlane: true})
	}
	members, err := health.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Empty(t, members[0].Problem)
	mu.Lock()
	defer mu.Unlock()
	for _, connection := range held {
		_ = connection.Close() // nothing was sent
	}
	for _, deaf := range slices.Compact(slices.Sorted(slices.Values(asked))) {
		times := len(slices.DeleteFunc(slices.Clone(asked), func(one string) bool { return one != deaf }))
		require.Less(t, times, 3, "one whose time is used up is asked twice more: whether it is in maintenance mode, and whether it listens")
	}
}
