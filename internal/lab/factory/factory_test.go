package factory_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/image-factory/pkg/client"
	"github.com/siderolabs/image-factory/pkg/schematic"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/factory"
)

func serve(t *testing.T, options ...factory.Option) (string, *client.Client) {
	t.Helper()

	server := httptest.NewServer(factory.New(options...))
	t.Cleanup(server.Close)

	c, err := client.New(server.URL)
	require.NoError(t, err)

	return server.URL, c
}

func withExtensions(names ...string) schematic.Schematic {
	s := schematic.Schematic{}
	s.Customization.SystemExtensions.OfficialExtensions = names

	return s
}

// TestFactoryClient uses the client of the Talos provider.
func TestFactoryClient(t *testing.T) {
	t.Parallel()

	_, c := serve(t)
	s := withExtensions("siderolabs/qemu-guest-agent")

	id, err := c.SchematicCreate(t.Context(), s)
	require.NoError(t, err)

	expected, err := s.ID()
	require.NoError(t, err)
	require.Equal(t, expected, id)

	versions, err := c.Versions(t.Context())
	require.NoError(t, err)
	require.Contains(t, versions, "v1.12.4")
	require.NotContains(t, versions, "v1.12.99")

	extensions, err := c.ExtensionsVersions(t.Context(), "v1.12.4")
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(extensions, func(e client.ExtensionInfo) bool {
		return e.Name == "siderolabs/nvidia-container-toolkit-lts" &&
			e.Ref == "ghcr.io/siderolabs/nvidia-container-toolkit-lts:v1.12.4" && strings.HasPrefix(e.Digest, "sha256:")
	}))

	for version, newer := range map[string][2]bool{"v1.12.11": {false, false}, "v1.13.9": {true, false}, "v1.14.1": {true, true}} {
		extensions, err := c.ExtensionsVersions(t.Context(), version)
		require.NoError(t, err)
		for i, name := range []string{"siderolabs/intel-npu", "siderolabs/harbor-credential-provider"} {
			has := slices.ContainsFunc(extensions, func(e client.ExtensionInfo) bool { return e.Name == name })
			require.Equal(t, newer[i], has, "%s of %s", name, version)
		}
	}

	overlays, err := c.OverlaysVersions(t.Context(), "v1.12.4")
	require.NoError(t, err)
	require.Empty(t, overlays)

	_, err = c.ExtensionsVersions(t.Context(), "v9.9.9")
	require.ErrorContains(t, err, "version 9.9.9 is not available")
}

func TestImages(t *testing.T) {
	t.Parallel()

	base, c := serve(t)

	plain, err := c.SchematicCreate(t.Context(), schematic.Schematic{})
	require.NoError(t, err)

	gpu, err := c.SchematicCreate(t.Context(), withExtensions("siderolabs/nvidia-container-toolkit", "siderolabs/gvisor"))
	require.NoError(t, err)

	path := "/image/" + plain + "/v1.12.4/nocloud-amd64.iso"
	size, sum := fetch(t, base+path)
	require.Greater(t, size, int64(100<<20))
	require.Zero(t, size%2048, "an ISO consists of sectors")

	again, sumAgain := fetch(t, base+path)
	require.Equal(t, size, again)
	require.Equal(t, sum, sumAgain, "the same image has the same bytes")

	other, sumOther := fetch(t, base+"/image/"+gpu+"/1.12.4/nocloud-amd64.iso")
	require.Greater(t, other, size, "extensions weigh something")
	require.NotEqual(t, sum, sumOther)

	head, err := http.Head(base + path)
	require.NoError(t, err)
	require.NoError(t, head.Body.Close())
	require.Equal(t, size, head.ContentLength)
	require.Equal(t, `attachment; filename="nocloud-amd64.iso"`, head.Header.Get("Content-Disposition"))
}

func fetch(t *testing.T, url string) (int64, string) {
	t.Helper()

	response, err := http.Get(url)
	require.NoError(t, err)

	defer response.Body.Close()

	require.Equal(t, http.StatusOK, response.StatusCode)

	sum := sha256.New()

	size, err := io.Copy(sum, response.Body)
	require.NoError(t, err)
	require.Equal(t, response.ContentLength, size)

	return size, fmt.Sprintf("%x", sum.Sum(nil))
}

func TestRefusals(t *testing.T) {
	t.Parallel()

	base, c := serve(t)

	id, err := c.SchematicCreate(t.Context(), schematic.Schematic{})
	require.NoError(t, err)

	odd, err := c.SchematicCreate(t.Context(), withExtensions("siderolabs/warp-drive"))
	require.NoError(t, err)

	unknown := strings.Repeat("0", 64)
	tests := map[string]struct {
		path   string
		status int
		text   string
	}{
		"an unknown schematic": {
			"/image/" + unknown + "/v1.12.4/nocloud-amd64.iso", http.StatusNotFound, `schematic ID "` + unknown + `" not found`,
		},
		"an unknown version": {
			"/image/" + id + "/v1.12.99/nocloud-amd64.iso", http.StatusNotFound, "version 1.12.99 is not available",
		},
		"another kind of image": {
			"/image/" + id + "/v1.12.4/nocloud-amd64.raw.xz", http.StatusBadRequest,
			`"nocloud-amd64.raw.xz" is not emulated: the lab serves nocloud-amd64.iso and its like`,
		},
		"an unknown extension": {
			"/image/" + odd + "/v1.12.4/nocloud-amd64.iso", http.StatusBadRequest,
			`official extension "siderolabs/warp-drive" is not available for Talos version v1.12.4`,
		},
		"overlays of an unknown version": {
			"/version/v0.1.0/overlays/official", http.StatusNotFound, "version 0.1.0 is not available",
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			response, err := http.Get(base + test.path)
			require.NoError(t, err)

			defer response.Body.Close()

			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, test.status, response.StatusCode)
			require.Equal(t, test.text+"\n", string(text))
		})
	}
}

func TestSchematicsThatAreNone(t *testing.T) {
	t.Parallel()

	base, _ := serve(t)

	for body, text := range map[string]string{
		"customisation: {}": "yaml: unmarshal errors:\n  line 1: field customisation not found in type schematic.Schematic\n",
		"":                  "EOF\n",
	} {
		response, err := http.Post(base+"/schematics", "application/yaml", strings.NewReader(body))
		require.NoError(t, err)

		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
		require.Equal(t, text, string(got))
	}
}

// TestSchematicsAreKept checks that a factory with a store knows its schematics after a restart.
func TestSchematicsAreKept(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "schematics")
	_, first := serve(t, factory.WithStore(dir))

	id, err := first.SchematicCreate(t.Context(), withExtensions("siderolabs/gvisor"))
	require.NoError(t, err)

	base, _ := serve(t, factory.WithStore(dir))
	for range 2 {
		head, err := http.Head(base + "/image/" + id + "/v1.12.4/nocloud-amd64.iso")
		require.NoError(t, err)
		require.NoError(t, head.Body.Close())
		require.Equal(t, http.StatusOK, head.StatusCode)
	}

	// A name that is not an ID reaches no file.
	escape, err := http.Head(base + "/image/..%2Fsecret/v1.12.4/nocloud-amd64.iso")
	require.NoError(t, err)
	require.NoError(t, escape.Body.Close())
	require.Equal(t, http.StatusNotFound, escape.StatusCode)

	// A damaged file is an error of the factory, not of the client.
	require.NoError(t, os.WriteFile(filepath.Join(dir, strings.Repeat("1", 64)+".yaml"), []byte("["), 0o600))

	broken, err := http.Head(base + "/image/" + strings.Repeat("1", 64) + "/v1.12.4/nocloud-amd64.iso")
	require.NoError(t, err)
	require.NoError(t, broken.Body.Close())
	require.Equal(t, http.StatusInternalServerError, broken.StatusCode)
}
