package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// copied are the files of the example in this repository, by their names in the example.
var copied = map[string]string{
	"Pulumi.yaml":                 "Pulumi.yaml",
	"Pulumi.k3s-dev.yaml":         "Pulumi.k3s-dev.yaml",
	"stacks/k3s-dev/cluster.yaml": "stacks/k3s-dev/cluster.yaml",
	"stacks/k3s-dev/nodes.yaml":   "stacks/k3s-dev/nodes.yaml",
	"schemas/cluster.schema.json": "schemas/cluster.schema.json",
	"schemas/nodes.schema.json":   "schemas/nodes.schema.json",
	exampleIgnored:                ".gitignore",
}

// TestTheExampleIsCurrent: the embedded project equals that of this repository. With -update it is copied anew.
func TestTheExampleIsCurrent(t *testing.T) {
	t.Parallel()
	var embedded []string
	require.NoError(t, fs.WalkDir(exampleFiles, "example", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			embedded = append(embedded, strings.TrimPrefix(path, "example/"))
		}
		return err
	}))
	for name, source := range copied {
		text, err := os.ReadFile(filepath.Join("../..", source))
		require.NoError(t, err)
		if *update {
			file := filepath.Join("example", name)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))       //nolint:gosec // a folder of sources
			require.NoError(t, os.WriteFile(file, text, 0o644))              //nolint:gosec // a source
			require.NotContains(t, string(text), "encryptionsalt", "secret") // of a stack that somebody works with
		}
		copy, err := os.ReadFile(filepath.Join("example", name))
		require.NoError(t, err)
		require.Equal(t, string(text), string(copy), "copy it anew: go test ./cmd/em-infra -run TheExampleIsCurrent -update")
	}
	if !*update {
		require.Len(t, embedded, len(copied))
	}
}

// TestAnEmptyFolder: without a clone the tool writes a project, checks it, and says what it needs for more.
func TestAnEmptyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("EM_INFRA_CACHE", t.TempDir())
	written := em(t.Context(), "example", "cluster")
	require.Equal(t, outcome{out: "written: cluster\nnext: change the addresses and names in cluster/stacks/k3s-dev, then em-infra validate --stack k3s-dev\n"}, written)
	require.Equal(t, refusal("cluster/.gitignore is there already: name an empty folder, as in `em-infra example cluster`"), em(t.Context(), "example", "cluster"))

	t.Chdir("cluster")
	require.DirExists(t, ".state")
	valid := em(t.Context(), "validate", "--stack", "k3s-dev")
	require.Equal(t, exitOK, valid.code, "%s", valid.err)
	require.Equal(t, exitOK, em(t.Context(), "explain", "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout").code)
	require.Equal(t, exitOK, em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "cluster.svg").code)
	listed := em(t.Context(), "tools", "list")
	require.Equal(t, exitOK, listed.code, "%s", listed.err)
	require.Contains(t, listed.out, "proxmoxve")
	rehearsed := em(t.Context(), "up", "--stack", "k3s-dev", "--lab", "--yes")
	require.Equal(t, "rehearsals need controlplane, which is not published anywhere, and there is no clone of em-infra here to build it from: "+
		"run rehearsals in a clone, or once `em-infra tools install --lab` there, which keeps it for all folders\n", rehearsed.err)
}
