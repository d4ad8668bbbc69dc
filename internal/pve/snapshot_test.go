package pve_test

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/pve"
)

// names returns the names of a guest's snapshots.
func names(t *testing.T, reader pve.Reader, guest pve.Guest) []string {
	t.Helper()
	taken, err := reader.Snapshots(t.Context(), guest)
	require.NoError(t, err)
	all := []string{}
	for _, one := range taken {
		all = append(all, one.Name)
	}
	return all
}

// TestSnapshotsOfGuests takes, lists and deletes snapshots of a machine and of a container.
func TestSnapshotsOfGuests(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	image := pve.Image{Host: node, Volume: "local:vztmpl/debian.tar.zst", URL: debianURL, Algorithm: "sha512", Checksum: "ab12"}
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"201"}, "scsi0": {"tank:1"}})
	e.must(http.MethodPost, "/lxc", url.Values{"vmid": {"200"}, "ostemplate": {image.Volume}, "rootfs": {"guests:4"}})
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	for _, guest := range []pve.Guest{{Node: node, Type: pve.TypeVM, VMID: 201}, {Node: node, Type: pve.TypeContainer, VMID: 200}} {
		can, err := reader.CanSnapshot(t.Context(), guest)
		require.NoError(t, err)
		require.True(t, can)
		begin := e.clock.Now()
		for _, name := range []string{"b1", "a1"} { // so the order of the times is not that of the names
			e.clock.advance(time.Minute)
			require.NoError(t, e.connection.TakeSnapshot(t.Context(), guest, pve.Snapshot{Name: name, Description: "before: memory 1 → 2 MiB"}))
		}
		taken, err := reader.Snapshots(t.Context(), guest)
		require.NoError(t, err)
		require.Len(t, taken, 2)
		require.Equal(t, "before: memory 1 → 2 MiB", taken[0].Description)
		require.Equal(t, "b1", taken[0].Name)
		for i, one := range taken {
			require.WithinDuration(t, begin.Add(time.Duration(i+1)*time.Minute), one.Taken, time.Second)
		}
		require.NoError(t, e.connection.DescribeSnapshot(t.Context(), guest, pve.Snapshot{Name: "b1", Description: "after"}))
		require.EqualError(t, e.connection.DescribeSnapshot(t.Context(), guest, pve.Snapshot{Name: "none", Description: "after"}),
			"the snapshot none of "+guest.String()+" cannot be described: 500 snapshot 'none' does not exist")
		described, err := reader.Snapshots(t.Context(), guest)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"after", "before: memory 1 → 2 MiB"}, []string{described[0].Description, described[1].Description})
		require.EqualError(t, e.connection.TakeSnapshot(t.Context(), guest, pve.Snapshot{Name: "a1"}),
			"the snapshot a1 of "+guest.String()+" cannot be taken: snapshot name 'a1' already used")
		require.NoError(t, e.connection.DeleteSnapshot(t.Context(), guest, "b1"))
		require.Equal(t, []string{"a1"}, names(t, reader, guest))
		require.EqualError(t, e.connection.DeleteSnapshot(t.Context(), guest, "b1"),
			"the snapshot b1 of "+guest.String()+" cannot be removed: snapshot 'b1' does not exist")
	}
}

// TestStoragesWithoutSnapshots: a raw file has none.
func TestStoragesWithoutSnapshots(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		withImages(c)
		c.Hosts[0].Storages[len(c.Hosts[0].Storages)-2].Content = append(c.Hosts[0].Storages[len(c.Hosts[0].Storages)-2].Content, storage.Images)
	})
	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"201"}, "scsi0": {"local:1"}})
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	guest := pve.Guest{Node: node, Type: pve.TypeVM, VMID: 201}
	can, err := reader.CanSnapshot(t.Context(), guest)
	require.NoError(t, err)
	require.False(t, can)
	require.EqualError(t, e.connection.TakeSnapshot(t.Context(), guest, pve.Snapshot{Name: "a1"}),
		"the snapshot a1 of VM 201 on vmhost cannot be taken: snapshot feature is not available")
}

// TestSnapshotsThatAreNotWhole: a host that crashes meanwhile leaves the name of the step that it was doing (pve-guest-common, AbstractConfig.pm).
func TestSnapshotsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"name":"a2","snaptime":200,"snapstate":"delete"},{"name":"a1","snaptime":100},{"name":"current"}]}`)) // to a client that has gone
	}))
	t.Cleanup(server.Close)
	reader, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: tokenID + "=" + rand.Text(), Insecure: true})
	require.NoError(t, err)
	taken, err := reader.Snapshots(t.Context(), pve.Guest{Node: node, Type: pve.TypeVM, VMID: 201})
	require.NoError(t, err)
	require.Equal(t, []pve.Snapshot{
		{Name: "a1", Taken: time.Unix(100, 0).UTC()}, {Name: "a2", Taken: time.Unix(200, 0).UTC(), Unfinished: "delete"},
	}, taken)
}
