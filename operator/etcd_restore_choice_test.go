package operator_test

import (
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

// dataUpTo is what a control plane has of etcd's data.
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
			told := new(recordedEvents)
			base, _ := sessionWith(t, nil, false)
			base.workspace.Backups = filepath.Join(t.TempDir(), "k3s-dev")
			s := operator.In(operator.Options{Stack: "k3s-dev"}, base.workspace, told, func() time.Time { return now }).Session("", inv)
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
