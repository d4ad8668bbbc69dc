package nodeops_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// packed returns a release in Helm's storage format.
func packed(t *testing.T, release string) string {
	t.Helper()
	var text bytes.Buffer
	writer := gzip.NewWriter(&text)
	_, err := writer.Write([]byte(release))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	inner := base64.StdEncoding.EncodeToString(text.Bytes())
	return base64.StdEncoding.EncodeToString([]byte(inner))
}

func unpacked(t *testing.T, text []byte) string {
	t.Helper()
	inner, err := base64.StdEncoding.DecodeString(string(text))
	require.NoError(t, err)
	reader, err := gzip.NewReader(bytes.NewReader(inner))
	require.NoError(t, err)
	release, err := io.ReadAll(reader)
	require.NoError(t, err)
	return string(release)
}

// helmSecrets is an API server that serves the revisions of releases and records what is written.
type helmSecrets struct {
	items   string
	mu      sync.Mutex
	written map[string][]byte
}

func (h *helmSecrets) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case request.URL.Path == "/readyz":
	case request.Method == http.MethodGet && request.URL.RawQuery == "labelSelector=owner%3Dhelm%2Cname%3Dflux2":
		fmt.Fprintf(w, `{"items":[%s]}`, h.items)
	case request.Method == http.MethodPut:
		body, _ := io.ReadAll(request.Body) // the test detects a missing body
		h.written[request.URL.Path] = body
		fmt.Fprint(w, "{}")
	default:
		http.Error(w, "unexpected "+request.Method+" "+request.URL.String(), http.StatusTeapot)
	}
}

func TestAReleaseThatTheStateForgotMakesWay(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	server := &helmSecrets{written: map[string][]byte{}, items: fmt.Sprintf(
		`{"metadata":{"name":"sh.helm.release.v1.flux2.v1","resourceVersion":"7","labels":{"owner":"helm","status":"deployed"}},"type":"helm.sh/release.v1","data":{"release":"%s"}}`,
		packed(t, `{"name":"flux2","info":{"status":"deployed","notes":"a < b"},"version":12345678901234567890}`))}
	m.serveAPI(server)
	require.NoError(t, nodeops.AdoptRelease(t.Context(), talosconfigOf(t, secretsOf(t, ours), m.address), "flux-system", "flux2"))

	require.Len(t, server.written, 1)
	var secret struct {
		APIVersion, Kind, Type string
		Metadata               struct {
			ResourceVersion string
			Labels          map[string]string
		}
		Data map[string][]byte
	}
	require.NoError(t, json.Unmarshal(server.written["/api/v1/namespaces/flux-system/secrets/sh.helm.release.v1.flux2.v1"], &secret))
	require.Equal(t, "v1 Secret helm.sh/release.v1", secret.APIVersion+" "+secret.Kind+" "+secret.Type)
	require.Equal(t, "7", secret.Metadata.ResourceVersion, "a change in between is not lost")
	require.Equal(t, map[string]string{"owner": "helm", "status": "failed"}, secret.Metadata.Labels)
	require.JSONEq(t, `{"name":"flux2","info":{"status":"failed","notes":"a < b"},"version":12345678901234567890}`, unpacked(t, secret.Data["release"]))
}

func TestWithoutSuchAReleaseNothingIsWritten(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	server := &helmSecrets{written: map[string][]byte{}}
	m.serveAPI(server)
	talosconfig := talosconfigOf(t, secretsOf(t, ours), m.address)
	require.NoError(t, nodeops.AdoptRelease(t.Context(), talosconfig, "flux-system", "flux2"))
	require.Empty(t, server.written)
	require.EqualError(t, nodeops.AdoptRelease(t.Context(), talosconfig, "flux-system", "cilium"),
		"look for an earlier Helm release flux-system/cilium: 418 I'm a teapot: run up again")
}
