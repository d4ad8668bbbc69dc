package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

// tree lists what is below a folder with its mode, and the text of files.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found[relative] = info.Mode().String()
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			found[relative] += " " + string(text)
			return err
		}
		return nil
	}))
	return found
}

func TestPrepareRehearsal(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	require.NoError(t, w.Prepare())

	first := tree(t, root)
	passphrase := first[".lab/k3s-dev/passphrase"]
	require.Regexp(t, `^-rw------- [A-Z2-7]{26}$`, passphrase)
	require.Equal(t, map[string]string{
		".lab":                          "drwx------",
		".lab/k3s-dev":                  "drwx------",
		".lab/k3s-dev/pulumi-home":      "drwx------",
		".lab/k3s-dev/pulumi-home/logs": noLog,
		".lab/k3s-dev/state":            "drwx------",
		".lab/k3s-dev/passphrase":       passphrase,
		".lab/k3s-dev/Pulumi.yaml": "-rw------- " + `# Made by em-infra for a rehearsal. The project's own Pulumi.yaml is two folders up.
name: em-infra
description: A rehearsal on the emulated host
runtime:
  name: go
  options:
    buildTarget: bin/program
main: ../..
options:
  refresh: always
config:
  pulumi:disable-default-providers:
    value: ["*"]
`,
	}, first)

	require.NoError(t, w.Prepare())
	require.Equal(t, first, tree(t, root), "nothing changes any more")
}

// TestEngineDir: the engine starts its plugins where the program is, which is where paths in resources begin.
func TestEngineDir(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ main, want string }{
		"beside Pulumi.yaml": {"", "."},
		"in a folder":        {"main: infra\n", "infra"},
		"a file":             {"main: infra/program\n", "infra"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte("name: em-infra\nruntime: go\n"+test.main), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(root, "infra"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(root, "infra", "program"), nil, 0o600))
			w, err := workspace.Real(root, "k3s-dev", "")
			require.NoError(t, err)
			found, err := w.EngineDir()
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, test.want), found)

			rehearsed, err := workspace.Rehearsal(root, "k3s-dev", "")
			require.NoError(t, err)
			require.NoError(t, rehearsed.Prepare())
			found, err = rehearsed.EngineDir()
			require.NoError(t, err)
			require.Equal(t, root, found, "its Pulumi.yaml names the project's folder")
		})
	}
}

// noLog is where the engine would keep its own log.
const noLog = `-rw------- The engine keeps no log of its own here: it would cost more time than its work.
What em-infra's runs did is among the artifacts. For a log, run pulumi with --logtostderr -v=9 in the shell of em-infra tools env.
`

func TestPrepareRemovesTheEnginesLogs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	logs := filepath.Join(w.Home, "logs")
	require.NoError(t, os.MkdirAll(logs, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(logs, "pulumi-20261122T151726-22408-stack_select.log"), nil, 0o600))
	require.NoError(t, w.Prepare())
	require.Equal(t, noLog, tree(t, w.Home)["logs"])
}

func TestPrepareRealMakesNoState(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	require.NoError(t, w.Prepare())
	require.Equal(t, map[string]string{
		".pulumi-home": "drwx------", ".pulumi-home/logs": noLog, ".credentials": "drwx------", ".credentials/k3s-dev": "drwx------",
	}, tree(t, root), "a state that is not there is never made on the fly")
}

// Two commands that prepare at once agree on one passphrase, and neither sees half of it.
func TestPrepareAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const runs = 16
	var prepared sync.WaitGroup
	seen := make([]string, runs)
	for i := range runs {
		prepared.Go(func() {
			w, err := workspace.Rehearsal(root, "k3s-dev", "")
			if err != nil {
				return
			}
			if err := w.Prepare(); err != nil {
				seen[i] = err.Error()
				return
			}
			text, err := os.ReadFile(filepath.Join(w.Dir, "passphrase"))
			if err == nil {
				seen[i] = string(text)
			}
		})
	}
	prepared.Wait()
	require.Len(t, seen[0], 26)
	for _, passphrase := range seen {
		require.Equal(t, seen[0], passphrase)
	}
	for path := range tree(t, root) {
		require.False(t, strings.HasPrefix(filepath.Base(path), "new-"), "%s is left behind", path)
	}
}

func TestPrepareSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, ".lab"), "")
	w, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	require.EqualError(t, w.Prepare(), "mkdir "+root+"/.lab: not a directory")
}
