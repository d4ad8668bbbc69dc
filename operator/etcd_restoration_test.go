package operator_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// TestARestoreThatWasBegun goes on, or is begun anew with another snapshot as long as that loses nothing.
func TestARestoreThatWasBegun(t *testing.T) {
	t.Parallel()
	begun := func(change func(*etcdrestore.Note)) etcdrestore.Note {
		note := etcdrestore.Note{Snapshot: "first", On: "cp-2", Begun: time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)}
		change(&note)
		return note
	}
	emptied := func(n *etcdrestore.Note) { n.Emptied = true }
	for _, test := range []struct {
		name   string
		begun  etcdrestore.Note
		data   etcdrestore.Data // on cp-2
		from   string
		want   string // the snapshot; empty for a choice of its own
		denied string
	}{
		{"nothing else is asked for", begun(emptied), etcdrestore.None, "", "first", ""},
		{"another one, before anything was touched", begun(func(*etcdrestore.Note) {}), etcdrestore.Some, "other", "", ""},
		{"another one, while etcd has no data", begun(emptied), etcdrestore.None, "other", "other", ""},
		{"another one, while the machine has no configuration", begun(emptied), etcdrestore.Unconfigured, "other", "other", ""},
		{
			"another one, and etcd has the data of the first", begun(emptied), etcdrestore.Some, "other", "",
			"a restore of etcd from first was begun, and cp-2 may have its data: run `em-infra etcd restore --stack k3s-dev` without --from first, which ends it",
		},
		{
			"another one, and what etcd has is not known", begun(emptied), etcdrestore.Silent, "other", "",
			"a restore of etcd from first was begun, and cp-2 may have its data: run `em-infra etcd restore --stack k3s-dev` without --from first, which ends it",
		},
		{
			"its control plane left the inventory", begun(func(n *etcdrestore.Note) { n.On, n.Emptied = "cp-9", true }), etcdrestore.None, "", "",
			"a restore of etcd from first was begun on cp-9, which is no control plane of nodes.yaml any more: put it back there, run `em-infra etcd restore --stack k3s-dev`, which ends it, and take it out then",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := sessionWith(t, nil, false)
			seen := etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{{Node: rolling.Node{Name: "cp-2"}, Data: test.data}}}
			note, err := s.Resumed(seen, []rolling.Node{{Name: "cp-2", ControlPlane: true}, {Name: "cp-9"}}, test.begun, &operator.EtcdRestoreOptions{From: test.from})
			if test.denied != "" {
				require.EqualError(t, err, test.denied)
				require.ErrorAs(t, err, new(*operator.RefusedError))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, note.Snapshot)
		})
	}
}

// TestARestoreThatGoesOnLooksForAnotherEtcd: a restore that was killed before all control planes were emptied begins with the same check
// again, since control planes that do not answer now may have a quorum. Those that were ordered to reboot do not count.
func TestARestoreThatGoesOnLooksForAnotherEtcd(t *testing.T) {
	t.Parallel()
	const runs = "k3s-dev-control-1 does not answer (silent) and its VM 101 runs, so its etcd may still work: wait until it answers, or stop it with `qm stop 101` on its host, then run `em-infra etcd restore --stack k3s-dev` again"
	for _, test := range []struct {
		name   string
		change func(*etcdrestore.Note)
		denied string
	}{
		{"before anything was touched", func(*etcdrestore.Note) {}, runs},
		{"another was ordered to reboot", func(n *etcdrestore.Note) { n.Ordered = []string{"cp-2"} }, runs},
		{"it was ordered to reboot", func(n *etcdrestore.Note) { n.Ordered = []string{"cp-2", "k3s-dev-control-1"} }, ""},
		{"all were emptied", func(n *etcdrestore.Note) { n.Emptied = true }, ""},
		{"the only one gets another machine", func(n *etcdrestore.Note) { n.Replaces = true }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := sessionWith(t, nil, false)
			note := etcdrestore.Note{Snapshot: "first", On: "cp-2", Begun: time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)}
			test.change(&note)
			silent := etcdrestore.ControlPlane{Node: rolling.Node{Name: "k3s-dev-control-1"}, Problem: errors.New("silent")}
			seen := etcdrestore.Seen{
				ControlPlanes: []etcdrestore.ControlPlane{silent, {Node: rolling.Node{Name: "cp-2"}, Data: etcdrestore.None}, {Node: rolling.Node{Name: "cp-3"}, Data: etcdrestore.None}},
				Power:         map[string]string{"k3s-dev-control-1": "running", "cp-2": "running", "cp-3": "running"},
			}
			_, err := s.Resumed(seen, []rolling.Node{{Name: "cp-2", ControlPlane: true}}, note, &operator.EtcdRestoreOptions{})
			if test.denied == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.denied)
			require.ErrorAs(t, err, new(*operator.RefusedError))
		})
	}
}

// TestAnUpStartsControlPlanesThatARestoreHasNotTouched: it can do nothing else that helps, since the restore is refused while a majority is
// off. Control planes that were ordered to delete their data are no majority with data, whether they are off or not.
func TestAnUpStartsControlPlanesThatARestoreHasNotTouched(t *testing.T) {
	t.Parallel()
	const first, second, third = "k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3"
	const starts = "a restore of etcd was begun, and k3s-dev-control-1 (VM 101), k3s-dev-control-2 (VM 0) of 3 control planes are switched off and have data of the time before: " +
		"start their VMs in Proxmox VE, or delete them if they do not come up, then run `em-infra etcd restore --stack k3s-dev` again"
	for _, test := range []struct {
		name     string
		ordered  []string
		asked    *operator.EtcdRestoreOptions
		goesOn   string // the snapshot
		isNoted  bool   // still
		denied   string
		isMoving bool
	}{
		{"an up, nothing was touched", nil, nil, "", false, "", false},
		{"a restore, nothing was touched", nil, &operator.EtcdRestoreOptions{}, "", true, first + ", " + second + " of 3 control planes are switched off, and may have all data of etcd: " +
			"run `em-infra up --stack k3s-dev`, which starts them; only if that does not help, delete their VMs, then run `em-infra etcd restore --stack k3s-dev` again", false},
		{"an up, and those that are off were to delete their data", []string{first, second}, nil, "first", true, "", false},
		{"an up, and the third was to delete its data", []string{third}, nil, "", true, starts, false},
		{"an up, and one silent machine runs", nil, nil, "", true, third + " does not answer (silent) and its VM 0 runs", true},
		{"another snapshot, after the third was to delete its data", []string{third}, &operator.EtcdRestoreOptions{From: "other"}, "", true, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := sessionWith(t, nil, false)
			s.workspace.Backups = t.TempDir()
			off := func(name string) etcdrestore.ControlPlane {
				return etcdrestore.ControlPlane{Node: rolling.Node{Name: name}, Problem: errors.New("silent")}
			}
			last := etcdrestore.ControlPlane{Node: rolling.Node{Name: third}, Data: etcdrestore.Some}
			if test.isMoving {
				last = off(third)
			}
			seen := etcdrestore.Seen{
				ControlPlanes: []etcdrestore.ControlPlane{off(first), off(second), last},
				Power:         map[string]string{first: "stopped", second: "stopped", third: "running"},
			}
			note := etcdrestore.Note{Snapshot: "first", On: third, Begun: time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC), Ordered: test.ordered}
			require.NoError(t, os.MkdirAll(s.workspace.Snapshots(), 0o700))
			require.NoError(t, s.RestoreNotes().Write(note))
			got, err := s.Resumed(seen, []rolling.Node{{Name: third, ControlPlane: true}}, note, test.asked)
			left, readErr := s.RestoreNotes().Of([]byte("talosconfig"))
			require.NoError(t, readErr)
			require.Equal(t, test.isNoted, left != nil)
			if test.denied != "" {
				require.ErrorContains(t, err, test.denied)
				require.ErrorAs(t, err, new(*operator.RefusedError))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.goesOn, got.Snapshot)
			if test.isNoted {
				require.Equal(t, test.ordered, got.Ordered, "so that they are not taken for others that run")
			}
		})
	}
}
