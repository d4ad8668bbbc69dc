package recovery_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

const (
	stateFile  = ".pulumi/stacks/em-infra/k3s-dev.json"
	backupFile = ".pulumi/stacks/em-infra/k3s-dev.json.bak"
	updateFile = ".pulumi/history/em-infra/k3s-dev/k3s-dev-17.checkpoint.json"
	tornState  = stateFile + ".torn"
	current    = `{"version":3,"checkpoint":{"stack":"organization/em-infra/k3s-dev","latest":{"resources":[]}}}`
	before     = `{"version":3,"checkpoint":{"stack":"organization/em-infra/k3s-dev"}}`
	attributes = `{"user.content_type":"application/json"}`
)

// stateFolder returns a folder with these files of a state, each written an hour after the previous one in the order of their names.
func stateFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "odd [name]*")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	written := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(files[name]), 0o600))
		require.NoError(t, os.Chtimes(path, written, written))
		written = written.Add(time.Hour)
	}
	return folder
}

func TestMendState(t *testing.T) {
	t.Parallel()
	const taken = " takes its place, which does not know what was done after that; the torn one is k3s-dev.json.torn"
	for _, test := range []struct {
		name        string
		files, then map[string]string // then are the files that differ afterwards; "gone" is a missing file
		mended      []string
	}{
		{name: "nothing is torn", files: map[string]string{stateFile: current, stateFile + ".attrs": attributes, backupFile: before}},
		{name: "no state", files: map[string]string{backupFile: before}},
		{
			name:   "attributes",
			files:  map[string]string{stateFile: current, stateFile + ".attrs": "", backupFile + ".attrs": `{"user.con`, ".pulumi/stacks/em-infra/other.json.attrs": ""},
			then:   map[string]string{stateFile + ".attrs": "gone", backupFile + ".attrs": "gone"},
			mended: []string{"k3s-dev.json.attrs was torn and is removed: it says nothing that is needed", "k3s-dev.json.bak.attrs was torn and is removed: it says nothing that is needed"},
		},
		{
			name:   "empty",
			files:  map[string]string{stateFile: "", backupFile: before},
			then:   map[string]string{stateFile: before, tornState: ""},
			mended: []string{"the state was torn (the file is empty): its copy of 2026-01-02 04:04:05 UTC" + taken},
		},
		{
			name:   "cut off, and its copy too",
			files:  map[string]string{stateFile: current[:40], backupFile: before[:20], updateFile: current},
			then:   map[string]string{stateFile: current, tornState: current[:40]},
			mended: []string{"the state was torn (the file is cut off): its copy of 2026-01-02 03:04:05 UTC" + taken},
		},
		{
			name:   "zeros",
			files:  map[string]string{stateFile: strings.Repeat("\x00", 100), backupFile: before},
			then:   map[string]string{stateFile: before, tornState: strings.Repeat("\x00", 100)},
			mended: []string{"the state was torn (the file holds zeros alone): its copy of 2026-01-02 04:04:05 UTC" + taken},
		},
		{
			name:   "somebody edited it",
			files:  map[string]string{stateFile: `{"version":3,checkpoint:{}}`, ".pulumi/backups/em-infra/k3s-dev/k3s-dev.17.json": before},
			then:   map[string]string{stateFile: before, tornState: `{"version":3,checkpoint:{}}`},
			mended: []string{"the state was torn (the file is no JSON of a state): its copy of 2026-01-02 03:04:05 UTC" + taken},
		},
		{name: "no copy is whole", files: map[string]string{stateFile: "", backupFile: ""}},
		{
			name:   "history",
			files:  map[string]string{stateFile: current, ".pulumi/history/em-infra/k3s-dev/k3s-dev-17.history.json": `{"kind":`, updateFile: current},
			then:   map[string]string{".pulumi/history/em-infra/k3s-dev/k3s-dev-17.history.json": "gone", ".pulumi/history/em-infra/k3s-dev/k3s-dev-17.history.json.torn": `{"kind":`},
			mended: []string{"k3s-dev-17.history.json was torn and is put aside: it tells of one run that has ended"},
		},
		{
			name:   "layout",
			files:  map[string]string{stateFile: current, ".pulumi/meta.yaml": ""},
			then:   map[string]string{".pulumi/meta.yaml": "gone"},
			mended: []string{"meta.yaml was torn and is removed: the engine writes it anew"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := stateFolder(t, test.files)
			mended, err := recovery.MendState("file://"+folder, "em-infra", "k3s-dev")
			require.NoError(t, err)
			require.Equal(t, test.mended, mended)

			expected := maps.Clone(test.files)
			maps.Copy(expected, test.then)
			maps.DeleteFunc(expected, func(_, text string) bool { return text == "gone" })
			require.Equal(t, expected, filesIn(t, folder))

			again, err := recovery.MendState("file://"+folder, "em-infra", "k3s-dev")
			require.NoError(t, err)
			require.Empty(t, again, "it is mended once")
		})
	}
}

// filesIn returns the files below a folder with their texts.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder+"/")] = string(text)
		return err
	}))
	return files
}

func TestMendStateLeavesABucketAlone(t *testing.T) {
	t.Parallel()
	mended, err := recovery.MendState("s3://bucket", "em-infra", "k3s-dev")
	require.NoError(t, err)
	require.Empty(t, mended)
}
