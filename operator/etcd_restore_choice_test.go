package operator_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// dataUpTo returns the data of etcd on a control plane, up to a revision.
func dataUpTo(t *testing.T, revision int64) nodeops.EtcdSnapshot {
	t.Helper()
	text := snapshottest.Signed(snapshottest.Database(t, 2, revision))
	return nodeops.EtcdSnapshot{Talos: "v1.12.4", Take: func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}}
}

// TestTheSnapshotOfARestoreStays: what the restore itself keeps of the control planes must not take the place of the snapshot that it uses.
func TestTheSnapshotOfARestoreStays(t *testing.T) {
	t.Parallel()
	const named = "2026-11-19T22-15-00-before-restore"
	for _, test := range []struct {
		name, from string
		keep       inventory.Keep
		nodes      []string
		revision   int64
	}{
		{"what the first control plane has is the newest", "", inventory.Keep{Last: 1}, []string{"cp-1", "cp-2"}, 100},
		{"an older one is named", named, inventory.Keep{Last: 2}, []string{"cp-1", "cp-2", "cp-3"}, 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv := &inventory.Inventory{}
			inv.Cluster.Name, inv.Cluster.Backups.Keep = "k3s-dev", test.keep
			now := time.Date(2026, 11, 19, 22, 15, 0, 0, time.UTC)
			recorded := new(recordedEvents)
			base, _ := sessionWith(t, nil, false)
			base.workspace.Backups = filepath.Join(t.TempDir(), "k3s-dev")
			s := operator.In(operator.Options{Stack: "k3s-dev"}, base.workspace, recorded, func() time.Time { return now }).Session("", inv)
			s.WithProgram(stacks.Options{Snapshots: base.workspace.Snapshots(), Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}})
			_, err := s.ChosenForRestore(t.Context(), "", []string{"cp-1"}, map[string]nodeops.EtcdSnapshot{"cp-1": dataUpTo(t, 50)})
			require.NoError(t, err, "a restore of before, of which the snapshot is there")
			s.WithProgram(stacks.Options{Snapshots: base.workspace.Snapshots(), Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}})
			now = now.AddDate(0, 0, 1)

			chosen, err := s.ChosenForRestore(t.Context(), test.from, test.nodes, map[string]nodeops.EtcdSnapshot{
				"cp-1": dataUpTo(t, 100), "cp-2": dataUpTo(t, 90), "cp-3": dataUpTo(t, 80),
			})
			require.NoError(t, err)
			require.Equal(t, test.revision, chosen.Revision)
			_, err = os.Stat(chosen.Path)
			require.NoError(t, err, "it is there for the restore")
		})
	}
}

// TestDataThatIsNotKeptIsNamed: the restore deletes the data of every control plane. Data that could not be kept may be the newest, so it is
// given up only if a person has named a snapshot, and a warning names its control plane.
func TestDataThatIsNotKeptIsNamed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 22, 15, 0, 0, time.UTC)
	recorded := new(recordedEvents)
	base, _ := sessionWith(t, nil, false)
	base.workspace.Backups = filepath.Join(t.TempDir(), "k3s-dev")
	session := func() *operator.Session {
		inv := &inventory.Inventory{}
		inv.Cluster.Name = "k3s-dev"
		s := operator.In(operator.Options{Stack: "k3s-dev"}, base.workspace, recorded, func() time.Time { return now }).Session("", inv)
		s.WithProgram(stacks.Options{Snapshots: base.workspace.Snapshots(), Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}})
		return s
	}
	nodes := []string{"cp-1", "cp-2", "cp-3"}
	data := map[string]nodeops.EtcdSnapshot{
		"cp-1": dataUpTo(t, 100),
		"cp-2": {Take: func(io.Writer) error { return errors.New("its disk is full") }},
		"cp-3": dataUpTo(t, 90),
	}
	_, err := session().ChosenForRestore(t.Context(), "", nodes, data)
	require.EqualError(t, err, "the data of etcd on cp-2 is not kept (its disk is full): mend that and try again, or choose a snapshot that `em-infra etcd list --stack k3s-dev` shows with --from, which gives that data up")
	require.ErrorAs(t, err, new(*operator.RefusedError))

	now = now.AddDate(0, 0, 1)
	chosen, err := session().ChosenForRestore(t.Context(), "2026-11-19T22-15-00-before-restore", nodes, data)
	require.NoError(t, err)
	require.EqualValues(t, 100, chosen.Revision)
	require.Contains(t, *recorded, operator.Event(operator.Note{Text: "warning: the data of etcd on cp-2 is not kept (its disk is full); the restore deletes it"}))
}
