package lab_test

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

func TestChooseNetworkSkipsWhatOthersUse(t *testing.T) {
	t.Parallel()
	cluster := strings.ReplaceAll(clusterYAML, "192.168.217.", "192.168.218.")
	inv := parse(t, cluster, strings.ReplaceAll(nodesYAML, "192.168.217.", "192.168.218."))
	dir := labDir(t)
	network, err := lab.ChooseNetwork(t, inv, dir)
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("127.20.218.0/24"), network, "the inventory's, but for the first two bytes")

	// A sibling lab keeps its network, running or not.
	sibling := filepath.Join(filepath.Dir(dir), "k3s-prod")
	require.NoError(t, os.Mkdir(sibling, 0o700))
	d := described(t)
	d.Network = netip.MustParsePrefix("127.20.0.0/16")
	require.NoError(t, d.Write(sibling))
	network, err = lab.ChooseNetwork(t, inv, dir)
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("127.21.218.0/24"), network)

	// The port of one of the nodes is in use.
	listener, err := net.Listen("tcp", "127.21.218.21:50000")
	require.NoError(t, err)
	network, err = lab.ChooseNetwork(t, inv, dir)
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("127.22.218.0/24"), network)
	require.NoError(t, listener.Close())

	// A lab of another project has reserved the network.
	claimed, err := net.Listen("tcp", "127.21.218.0:50000")
	require.NoError(t, err)
	network, err = lab.ChooseNetwork(t, inv, dir)
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("127.22.218.0/24"), network)
	require.NoError(t, claimed.Close())

	// The lab's own earlier network is not a conflict.
	own := described(t)
	own.Network = netip.MustParsePrefix("127.21.218.0/24")
	require.NoError(t, own.Write(dir))
	network, err = lab.ChooseNetwork(t, inv, dir)
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("127.21.218.0/24"), network)
}

func TestChooseNetworkWhenAllAreTaken(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	sibling := filepath.Join(filepath.Dir(dir), "k3s-prod")
	require.NoError(t, os.Mkdir(sibling, 0o700))
	d := described(t)
	d.Network = netip.MustParsePrefix("127.0.0.0/8")
	require.NoError(t, d.Write(sibling))
	_, err := lab.ChooseNetwork(t, parse(t, clusterYAML, nodesYAML), dir)
	require.EqualError(t, err, "no loopback network is free for the nodes: stop other labs with `em-infra lab stop`")
}

func TestChooseNetworkRefusesWhatLoopbackCannotHold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, cidr string }{
		{"IPv6", "fd00:20::/64"}, {"wider than /16", "10.0.0.0/15"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv := parse(t, clusterYAML, nodesYAML)
			inv.Cluster.Network.CIDR = netip.MustParsePrefix(test.cidr)
			_, err := lab.ChooseNetwork(t, inv, labDir(t))
			require.EqualError(t, err, "network.cidr "+test.cidr+" cannot be rehearsed (IPv4, /16 or longer): choose a smaller network")
		})
	}
}

// Labs that are made at the same time get different addresses, within one project and across projects.
func TestLabsMadeAtOnce(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	var started sync.WaitGroup
	dirs := []string{filepath.Join(project, "one"), filepath.Join(project, "two"), filepath.Join(project, "three")}
	for range 5 {
		dirs = append(dirs, filepath.Join(t.TempDir(), ".lab", "one"))
	}
	problems := make([]error, len(dirs))
	for i, dir := range dirs {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		serve := process(t, "serve", dir)
		started.Go(func() { problems[i] = lab.Start(t.Context(), dir, serve) })
	}
	started.Wait()
	taken := map[string]string{}
	for i, dir := range dirs {
		require.NoError(t, problems[i])
		d, err := lab.ReadDescription(dir)
		require.NoError(t, err)
		for _, address := range []string{d.Network.String(), d.Proxmox.String(), d.Factory.String()} {
			require.Empty(t, taken[address], "%s is that of %s too", address, dir)
			taken[address] = dir
		}
		stopped, err := lab.Stop(t.Context(), dir)
		require.NoError(t, err)
		require.True(t, stopped)
	}
}
