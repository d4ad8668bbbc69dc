package lives_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// oldestBackup returns the name of the oldest backup of the state; false if there is none.
func (f *life) oldestBackup() (string, bool) {
	f.t.Helper()
	backups := f.backups()
	if len(backups) == 0 {
		return "", false
	}
	return strings.TrimSuffix(filepath.Base(backups[0]), ".json"), true // their names begin with their time
}

func (f *life) backups() []string {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.stack.Dir(), "backups", "*.json"))
	require.NoError(f.t, err)
	return files
}

// snapshotsOfEtcd returns the names of the snapshots that were asked for, in their order.
func (f *life) snapshotsOfEtcd() (names []string) {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.stack.Dir(), "backups", "etcd", "*-by-hand.snap.age"))
	require.NoError(f.t, err)
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".snap.age"))
	}
	slices.Sort(names)
	return names
}

// snapshot is what a snapshot of etcd contains of what the life has made there.
type snapshot struct {
	canaries []string
	cordons  model.Cordons
}

// takeSnapshot takes a snapshot of etcd, and records what is in it.
func (f *life) takeSnapshot() {
	f.t.Helper()
	had, taken := f.snapshotsOfEtcd(), snapshot{canaries: f.keeper.Canaries(), cordons: maps.Clone(f.cordons)}
	f.run("snapshot-etcd")
	for _, name := range f.snapshotsOfEtcd() {
		if !slices.Contains(had, name) {
			f.snapshots[name] = taken
		}
	}
}

// restoreEtcd goes back in time: to the latest snapshot that was asked for. What was written before it survives, and what was written
// later may be lost from the moment in which the command is run.
func (f *life) restoreEtcd() {
	f.t.Helper()
	if len(f.snapshots) == 0 || f.gone {
		f.say("  means nothing here")
		return
	}
	back := f.snapshots[f.latestSnapshot()]
	f.keeper.GoBack(back.canaries)
	f.cordons.GoBack(back.cordons)
	f.restoring = true
	f.run("restore-etcd")
}

func (f *life) latestSnapshot() string { return slices.Max(slices.Collect(maps.Keys(f.snapshots))) }

// restoreArguments are those of a restore of etcd, which has each control plane delete its data.
func (f *life) restoreArguments() []string {
	args := []string{"etcd", "restore", "--lab", "--yes", "--from", f.latestSnapshot()}
	for _, name := range f.site.Names(site.ControlPlane) {
		args = append(args, "--allow-replace", name)
	}
	return args
}

// adopt removes the state and all backups of it, and writes the state anew from what runs. If the run is killed, another one follows. If the
// inventory does not match what runs, the adoption is refused, and the removed state is put back.
func (f *life) adopt() {
	f.t.Helper()
	if f.gone {
		f.say("  means nothing here")
		return
	}
	aside := f.t.TempDir()
	places := append(f.backups(), filepath.Join(f.stack.Dir(), "state", ".pulumi"))
	for _, place := range places {
		require.NoError(f.t, os.Rename(place, filepath.Join(aside, filepath.Base(place))))
	}
	r := f.run("adopt")
	if r.Killed && r.Code != 0 {
		r = f.run("adopt")
	}
	if r.Code == 0 || len(f.found) > 0 {
		return
	}
	f.say("  the state comes back from elsewhere")
	for _, place := range places {
		require.NoError(f.t, os.RemoveAll(place))
		require.NoError(f.t, os.Rename(filepath.Join(aside, filepath.Base(place)), place))
	}
	f.disturbed = f.disturbed || r.Code != model.Refused
}
