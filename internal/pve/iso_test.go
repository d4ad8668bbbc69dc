package pve_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/pve"
)

var talosISO = pve.ISO{Host: node, Volume: "local:iso/talos-v1.12.4-nocloud-376567988ad37013-amd64.iso"}

// imageServer serves an image, and counts how often it was fetched; it can be away.
type imageServer struct {
	*httptest.Server
	fetched atomic.Int32
	away    atomic.Bool
}

func newImageServer(t *testing.T) *imageServer {
	t.Helper()
	s := &imageServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.away.Load():
			http.Error(w, "", http.StatusServiceUnavailable)
		case r.URL.Path != "/nocloud-amd64.iso":
			http.NotFound(w, r)
		case r.Method == http.MethodGet:
			s.fetched.Add(1)
			_, _ = w.Write([]byte("an image"))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// withLocal gives the host a storage for ISOs.
func withLocal(c *proxmox.Config) {
	c.Hosts[0].Storages = append(c.Hosts[0].Storages, proxmox.Storage{
		Name: "local", Type: storage.Dir, Path: "/var/lib/vz", Content: []string{storage.ISO}, TotalBytes: 64 << 30,
	})
}

func TestAnISOIsDownloadedOnceAndThenAdopted(t *testing.T) {
	t.Parallel()
	images := newImageServer(t)
	e := newHost(t, withLocal)

	downloaded, err := e.connection.EnsureISO(t.Context(), talosISO, images.URL+"/nocloud-amd64.iso")
	require.NoError(t, err)
	require.True(t, downloaded)
	images.away.Store(true)
	downloaded, err = e.connection.EnsureISO(t.Context(), talosISO, images.URL+"/nocloud-amd64.iso")
	require.NoError(t, err, "nobody is asked for a file that is there")
	require.False(t, downloaded)
	require.EqualValues(t, 1, images.fetched.Load())
	for _, call := range e.server.Calls() {
		require.NotEqual(t, http.MethodDelete, call.Verb, "a machine whose drive names it may run")
	}
}

// TestSeveralWhoWantOneISOGetIt: two stacks on one host, or two hosts that share a storage, begin at the same time.
func TestSeveralWhoWantOneISOGetIt(t *testing.T) {
	t.Parallel()
	images := newImageServer(t)
	e := newHost(t, withLocal)
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			_, err := e.connection.EnsureISO(t.Context(), talosISO, images.URL+"/nocloud-amd64.iso")
			return err
		})
	}
	require.NoError(t, all.Wait())
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	there, err := reader.HasISO(t.Context(), talosISO)
	require.NoError(t, err)
	require.True(t, there)
	for _, call := range e.server.Calls() {
		require.NotEqual(t, http.MethodDelete, call.Verb, "a machine whose drive names it may run")
	}
}

func TestAnISOThatCannotBeHadIsSaid(t *testing.T) {
	t.Parallel()
	images := newImageServer(t)
	e := newHost(t, withLocal)

	_, err := e.connection.EnsureISO(t.Context(), talosISO, images.URL+"/other.iso")
	require.EqualError(t, err, "vmhost cannot download "+images.URL+"/other.iso to "+talosISO.Volume+
		" (invalid server response: '404 Not Found'): mend that, then run up again")
	_, err = e.connection.EnsureISO(t.Context(), pve.ISO{Host: node, Volume: "local:vztmpl/a.tar.gz"}, images.URL)
	require.EqualError(t, err, `"local:vztmpl/a.tar.gz" is no volume of an ISO: give STORAGE:iso/FILE`)
	_, err = e.connection.EnsureISO(t.Context(), pve.ISO{Host: node, Volume: "absent:iso/a.iso"}, images.URL)
	require.ErrorContains(t, err, "what storage absent of vmhost holds cannot be read (")
	require.ErrorContains(t, err, "): see that it is there and active, then run up again")

	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	there, err := reader.HasISO(t.Context(), talosISO)
	require.NoError(t, err)
	require.False(t, there)
}
