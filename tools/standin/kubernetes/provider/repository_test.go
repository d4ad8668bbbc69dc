package provider_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/repo"
)

// newRepository serves charts over HTTP to clients with the password.
func newRepository(t *testing.T, versions ...string) *httptest.Server {
	t.Helper()
	dir := t.TempDir()
	for _, version := range versions {
		newArchive(t, dir, version)
	}
	index, err := repo.IndexDirectory(dir, "")
	require.NoError(t, err)
	require.NoError(t, index.WriteFile(filepath.Join(dir, "index.yaml"), 0o600))
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "hush" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// helmFolders returns settings that keep Helm's files in a folder of the test.
func helmFolders(t *testing.T) map[string]any {
	t.Helper()
	dir := t.TempDir()
	return map[string]any{"helmReleaseSettings": map[string]any{
		"repositoryCache": filepath.Join(dir, "cache"), "repositoryConfigPath": filepath.Join(dir, "repositories.yaml"),
		"registryConfigPath": filepath.Join(dir, "registry.json"), "pluginsPath": filepath.Join(dir, "plugins"),
	}}
}

func TestChartOfARepository(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, helmFolders(t)), newNamespace(t)
	server := newRepository(t, "1.0.0", "1.4.0", "2.0.0")
	from := func(user, password string) map[string]any {
		return map[string]any{"version": "~1", "repositoryOpts": map[string]any{
			"repo": server.URL, "username": user, "password": password,
		}}
	}
	m := h.mustCreate(helmRelease, "demo", releaseInputs(in, "demo", from("reader", "hush")))
	require.Equal(t, "1.4.0", m.state["version"].StringValue())
	require.Equal(t, "1.4.0", deployed(t, in)["version"])
	changes, _ := m.diff(releaseInputs(in, "demo", from("reader", "hush")))
	require.Empty(t, changes)
	require.NoError(t, m.delete())

	failures := h.failures(urn(helmRelease, "demo"), releaseInputs(in, "demo", from("reader", "wrong")))
	require.Len(t, failures, 1)
	require.Contains(t, failures[0], "401 Unauthorized; check the chart name and repository configuration.")
	none := from("reader", "hush")
	none["version"] = "9.9.9"
	failures = h.failures(urn(helmRelease, "demo"), releaseInputs(in, "demo", none))
	require.Len(t, failures, 1)
	require.Contains(t, failures[0], `chart: chart "demo" version "9.9.9" not found in `+server.URL)
}

// newRegistry serves one chart as an OCI artifact (https://helm.sh/docs/topics/registries, "Helm Chart Manifest").
func newRegistry(t *testing.T, version string) (server *httptest.Server, authority string) {
	t.Helper()
	archive, err := os.ReadFile(newArchive(t, t.TempDir(), version))
	require.NoError(t, err)
	config, err := json.Marshal(demo(version).Metadata)
	require.NoError(t, err)
	blobs := map[string][]byte{}
	describe := func(kind string, blob []byte) map[string]any {
		sum := sha256.Sum256(blob)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs[digest] = blob
		return map[string]any{"mediaType": kind, "digest": digest, "size": len(blob)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": describe("application/vnd.cncf.helm.config.v1+json", config),
		"layers": []any{describe("application/vnd.cncf.helm.chart.content.v1.tar+gzip", archive)},
	})
	require.NoError(t, err)
	digest, _ := describe(manifestType, manifest)["digest"].(string)

	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		blob, found := blobs[name]
		switch {
		case strings.HasSuffix(r.URL.Path, "/tags/list"):
			blob, found = []byte(`{"name":"charts/demo","tags":["`+version+`"]}`), true
		case strings.Contains(r.URL.Path, "/manifests/"):
			blob, found = manifest, name == version || name == digest
			w.Header().Set("Content-Type", manifestType)
			w.Header().Set("Docker-Content-Digest", digest)
		}
		if !found {
			http.NotFound(w, r)
			return
		}
		if _, err := w.Write(blob); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server, writeAuthority(t, server)
}

func TestChartOfARegistry(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, helmFolders(t)), newNamespace(t)
	server, authority := newRegistry(t, "1.3.0")
	address := "oci://" + strings.TrimPrefix(server.URL, "https://") + "/charts/demo"
	given := releaseInputs(in, address, map[string]any{
		"version": "1.3.0", "repositoryOpts": map[string]any{"caFile": authority, "username": "reader", "password": "hush"},
	})
	m := h.mustCreate(helmRelease, "demo", given)
	require.Equal(t, "1.3.0", deployed(t, in)["version"])
	require.NoError(t, m.delete())

	given["version"] = given["chart"]
	failures := h.failures(urn(helmRelease, "demo"), given)
	require.Len(t, failures, 1)
	require.Contains(t, failures[0], "check the chart name and repository configuration.")
}

func writeAuthority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(path, pemOf(server.Certificate().Raw), 0o600))
	return path
}
