package inventory_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// TestWhereTheDriverFindsTheBox: the API at the endpoint, iSCSI at the address that it listens on.
func TestWhereTheDriverFindsTheBox(t *testing.T) {
	t.Parallel()
	storage := inventory.Storage{Endpoint: "https://nas.example:8443/"}
	require.Equal(t, "wss://nas.example:8443/api/current", storage.APIURL())
	require.Empty(t, storage.ISCSIPortal("nas.example"))
	addresses := func(texts ...string) (list []netip.Addr) {
		for _, text := range texts {
			list = append(list, netip.MustParseAddr(text))
		}
		return list
	}
	for _, test := range []struct {
		listen []netip.Addr
		want   string
	}{
		{addresses("0.0.0.0"), "nas.example:3260"},
		{addresses("::"), "nas.example:3260"},
		{addresses("192.168.20.5"), "192.168.20.5:3260"},
		{addresses("fd00:20::5"), ""},
		{addresses("fd00:20::5", "192.168.20.5", "192.168.20.6"), "192.168.20.5:3260"},
	} {
		storage.ISCSI = &inventory.StorageISCSI{Listen: test.listen}
		require.Equal(t, test.want, storage.ISCSIPortal("nas.example"))
	}
	csi := load(t, "valid-every-key").Cluster.Addons.TrueNAS.CSI
	require.True(t, csi.HasChart())
	require.True(t, csi.Serves(inventory.ProtocolISCSI))
	require.False(t, inventory.TrueNASCSI{}.Serves(inventory.ProtocolNFS))
}
