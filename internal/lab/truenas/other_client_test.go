package truenas_test

import (
	"net/url"
	"strconv"
	"testing"

	nas "github.com/deevus/truenas-go"
	"github.com/deevus/truenas-go/client"
	"github.com/stretchr/testify/require"
)

// TestSomebodyElsesClient uses the box through a client library that was written against real ones: login, version, datasets, zvols,
// pools, and a job that it waits for by its events.
func TestSomebodyElsesClient(t *testing.T) {
	t.Parallel()
	r := serve(t)
	location, err := url.Parse(r.server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(location.Port())
	require.NoError(t, err)
	c, err := client.NewWebSocketClient(client.WebSocketConfig{
		Host: location.Hostname(), Port: port, Username: "em-infra", APIKey: key, InsecureSkipVerify: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Connect(t.Context()))
	require.Equal(t, "25.10.6.0", c.Version().String())

	datasets := nas.NewDatasetService(c, c.Version())
	made, err := datasets.CreateDataset(t.Context(), nas.CreateDatasetOpts{Name: "tank/k8s", Compression: "ZSTD", Quota: 5 << 30})
	require.NoError(t, err)
	require.Equal(t, "/mnt/tank/k8s", made.Mountpoint)
	require.Equal(t, "ZSTD", made.Compression)
	require.EqualValues(t, 5<<30, made.Quota)
	none := int64(0)
	made, err = datasets.UpdateDataset(t.Context(), "tank/k8s", nas.UpdateDatasetOpts{Quota: &none})
	require.NoError(t, err)
	require.Zero(t, made.Quota)
	pools, err := datasets.ListPools(t.Context())
	require.NoError(t, err)
	require.Equal(t, "tank", pools[0].Name)
	_, err = datasets.CreateZvol(t.Context(), nas.CreateZvolOpts{Name: "tank/k8s/pvc", Volsize: 1 << 30})
	require.NoError(t, err)
	require.Error(t, datasets.DeleteDataset(t.Context(), "tank/k8s", false), "it has a child")
	require.NoError(t, datasets.DeleteDataset(t.Context(), "tank/k8s", true))

	result, err := c.CallAndWait(t.Context(), "service.control", []any{"START", "nfs"})
	require.NoError(t, err)
	require.JSONEq(t, "true", string(result))
	r.fail(t, "nas-job-failed")
	_, err = c.CallAndWait(t.Context(), "service.control", []any{"START", "nfs"})
	require.ErrorContains(t, err, "Failed to start service")
}
