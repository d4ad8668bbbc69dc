package status_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/status"
)

func TestOtherImagesAreSaidWithWhatToDo(t *testing.T) {
	t.Parallel()
	plain := "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	address := netip.MustParseAddr("192.168.20.11")
	for _, test := range []struct {
		name string
		is   status.OtherImage
		want string
	}{
		{
			"from elsewhere", status.OtherImage{Node: "cp-1", Address: address, Wanted: status.Image{Schematic: plain, Installer: "factory.talos.dev/nocloud-installer/" + plain + ":v1.12.4"}},
			"cp-1 runs an image without a schematic, the inventory's is 376567988ad3: `em-infra up` upgrades it in place, drained, and when the cluster can do without it",
		},
		{
			"another release", status.OtherImage{Node: "cp-1", Address: address, Runs: plain, Talos: "v1.12.4", Wanted: status.Image{Schematic: plain, Installer: "factory.talos.dev/nocloud-installer/" + plain + ":v1.12.5"}},
			"cp-1 runs Talos v1.12.4, the inventory's is v1.12.5: `em-infra up` upgrades it in place, drained, and when the cluster can do without it",
		},
		{
			"another release of another image", status.OtherImage{Node: "cp-1", Address: address, Talos: "v1.12.4", Wanted: status.Image{Schematic: plain, Installer: "factory.talos.dev/nocloud-installer/" + plain + ":v1.12.5"}},
			"cp-1 runs Talos v1.12.4 of an image without a schematic, the inventory's is v1.12.5 of 376567988ad3: `em-infra up` upgrades it in place, drained, and when the cluster can do without it",
		},
		{
			"upgraded by hand", status.OtherImage{Node: "cp-1", Address: address, Runs: plain, Talos: "v1.13.9", Wanted: status.Image{Schematic: plain, Installer: "factory.talos.dev/nocloud-installer/" + plain + ":v1.12.11"}},
			"cp-1 runs Talos v1.13.9, the inventory's is v1.12.11: Talos never goes back to an older version: set talos.version to v1.13.9",
		},
		{
			"an image from elsewhere is wanted", status.OtherImage{Node: "cp-1", Address: address, Runs: plain, Talos: "v1.12.2", Wanted: status.Image{Installer: "ghcr.io/siderolabs/installer:v1.12.4"}},
			"cp-1 runs Talos v1.12.2, the inventory's is v1.12.4: `em-infra up` upgrades it in place, drained, and when the cluster can do without it",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, test.is.String())
		})
	}
}

// TestANodeThatRunsACopyOfAnImage: the name of a copy contains no schematic, and the node reports one.
func TestANodeThatRunsACopyOfAnImage(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Machines[0].Node.Schematic, r.Machines[0].Image = "376567988ad370138ad8b2698212367b", status.Image{Installer: "registry.example.org/installer:v1.12.4"}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.NotContains(t, text.String(), "the inventory's is")

	r.Machines[0].Image.Installer = "registry.example.org/installer:v1.12.5"
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "image         k3s-dev-control-1 runs Talos v1.12.4, the inventory's is v1.12.5: ")
}
