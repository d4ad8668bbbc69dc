// Package talostest brings up emulated nodes and clusters of them, for the tests of what operates nodes.
package talostest

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// Main runs the tests of a package without the proxy settings of the environment: they connect to loopback only.
func Main(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// FreeAddress returns an address that ends with a number, in a loopback network of its own.
func FreeAddress(t testing.TB, last byte) netip.Addr {
	t.Helper()
	four := loopbacktest.Network(t).Addr().As4()
	four[3] = last
	return netip.AddrFrom4(four)
}

// Hardware returns a machine with a blank disk of 64 GiB that boots the ISO of a release such as v1.12.4. The VMID is below 256.
func Hardware(vmid int, name string, address netip.Addr, release string) talos.Hardware {
	return talos.Hardware{
		VMID: vmid, Name: name, CPUs: 4, MemoryMiB: 4096, ISO: "local:iso/talos-" + release + "-nocloud-amd64.iso",
		Disks:     []talos.Disk{{ID: fmt.Sprintf("tank:vm-%d-disk-0", vmid), Bytes: 64 << 30}},
		NICs:      []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, byte(vmid)}}},
		CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(address, 24)}, Hostname: name},
	}
}

// AwaitStage waits until a machine is in a stage.
func AwaitStage(t testing.TB, fleet *talos.Fleet, vmid int, stage talos.Stage) {
	t.Helper()
	polltest.Until(t, func() bool {
		for _, node := range fleet.Nodes() {
			if node.VMID == vmid {
				return node.Stage == stage
			}
		}
		return false
	}, "stage ", stage)
}

// Apply sends a configuration to a machine in maintenance mode.
func Apply(t testing.TB, address netip.Addr, configuration []byte) {
	t.Helper()
	api, err := client.New(t.Context(), client.WithEndpoints(address.String()),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // that is the mode
	require.NoError(t, err)
	_, err = api.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: configuration})
	require.NoError(t, err)
	require.NoError(t, api.Close())
}
