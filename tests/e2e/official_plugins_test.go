package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// officialIn names the official plugins. Without it the tests with them are skipped: CI downloads nothing.
var officialIn = flag.String("official", "", "a folder with the official pulumi-resource-proxmoxve, -talos and -command, in the versions of go.mod")

// TestE2EOfficialPluginsAdopt: the official plugins read a lost state anew, and a refresh with them finds no difference. Run it with
//
//	go test ./tests/e2e -run TestE2EOfficialPluginsAdopt -official FOLDER -timeout 30m
func TestE2EOfficialPluginsAdopt(t *testing.T) {
	t.Parallel()
	if *officialIn == "" {
		t.Skip("needs the official plugins: run it with -official FOLDER")
	}
	r := newRehearsal(t, "e2e-official")
	r.env = append(r.env, "EM_INFRA_CACHE="+cacheWithPlugins(t, *officialIn))
	r.equip()
	r.mustRun(0, "up", "--lab", "--yes")
	r.usesPlugins(*officialIn)
	had, boots := r.urns(), r.boots()
	r.losesItsState()

	output := r.mustRun(0, "adopt", "--lab")
	require.Contains(t, output, "nothing would change\n")
	require.Equal(t, had, r.urns())
	r.mustRun(0, "preview", "--lab", "--refresh")
	r.mustRun(0, "up", "--lab", "--yes", "--refresh")
	require.Equal(t, boots, r.boots())
	r.mustRun(0, "preview", "--lab")
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// usesPlugins checks that the engine of the rehearsal has these plugins and not those that are built.
func (r *rehearsal) usesPlugins(folder string) {
	r.t.Helper()
	for _, name := range []string{"command", "proxmoxve", "talos"} {
		used, err := filepath.Glob(filepath.Join(r.dir(), "pulumi-home", "plugins", "resource-"+name+"-v*", "pulumi-resource-"+name))
		require.NoError(r.t, err)
		require.Len(r.t, used, 1)
		require.True(r.t, r.read(filepath.Join(folder, "pulumi-resource-"+name)) == r.read(used[0]), "the official plugin %s", name)
	}
}

// cacheWithPlugins returns a cache of the tool chain that has these official plugins, as if they had been installed, and otherwise the tools
// of the usual cache.
func cacheWithPlugins(t *testing.T, folder string) string {
	t.Helper()
	names := []string{"command", "proxmoxve", "talos"}
	installed, err := toolchain.Install(t.Context(), toolchain.Options{Source: projectRoot(t), Names: names, Progress: t.Output()})
	require.NoError(t, err)
	cache, usual := t.TempDir(), filepath.Join(toolchain.DefaultCacheDir(projectRoot(t)), "tools")
	entries, err := os.ReadDir(usual)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(cache, "tools"), 0o700))
	for _, entry := range entries {
		if !slices.Contains(names, entry.Name()) {
			require.NoError(t, os.Symlink(filepath.Join(usual, entry.Name()), filepath.Join(cache, "tools", entry.Name())))
		}
	}
	for _, tool := range installed.Tools {
		addOfficial(t, filepath.Join(folder, "pulumi-resource-"+tool.Name), filepath.Join(cache, "tools", tool.Name, tool.Version+"-official"))
	}
	return cache
}

// addOfficial writes an entry of the cache with a plugin.
func addOfficial(t *testing.T, plugin, entry string) {
	t.Helper()
	text, err := os.ReadFile(plugin)
	require.NoError(t, err)
	path := filepath.Join(entry, "bin", filepath.Base(plugin))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	executabletest.Write(t, path, text)
	sum := sha256.Sum256(text)
	manifest, err := json.Marshal(map[string]any{"origin": toolchain.Official, "files": []map[string]any{
		{"path": "bin/" + filepath.Base(plugin), "size": len(text), "modTime": time.Time{}, "sha256": hex.EncodeToString(sum[:])},
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(entry, "manifest.json"), manifest, 0o600))
}
