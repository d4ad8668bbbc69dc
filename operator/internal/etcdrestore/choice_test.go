package etcdrestore_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/crypto/nacl/secretbox"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// etcdWith returns a snapshot with one Secret, sealed with a key.
func etcdWith(t *testing.T, key [32]byte) []byte {
	t.Helper()
	nonce := [24]byte{1}
	stored := mvccpb.KeyValue{
		Key:   []byte("/registry/secrets/default/one"),
		Value: append([]byte("k8s:enc:secretbox:v1:key2:"), secretbox.Seal(nonce[:], []byte("value"), &nonce, &key)...),
	}
	value, err := stored.Marshal()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(file, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		return bucket.Put(binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64(nil, 7), '_'), 0), value)
	}))
	require.NoError(t, db.Close())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return append(text, sum[:]...)
}

// TestASnapshotThatDoesNotFitIsRefused has the exact words of each refusal.
func TestASnapshotThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	ours, theirs := [32]byte{1}, [32]byte{2}
	k3s := etcdsnapshot.Cluster{Name: "k3s-dev", Talos: "v1.12.9", Kubernetes: "v1.35.1", Nodes: 2}
	for _, test := range []struct {
		name   string
		of     func(*etcdsnapshot.Cluster)
		sealed [32]byte
		want   string
	}{
		{"another patch release", func(*etcdsnapshot.Cluster) {}, ours, ""},
		{"without a description", func(c *etcdsnapshot.Cluster) { *c = etcdsnapshot.Cluster{} }, ours, ""},
		{
			"another cluster's key", func(*etcdsnapshot.Cluster) {}, theirs,
			"the snapshot 2026-11-20T22-15-00-by-hand is of another cluster: the key in the state opens none of its Secrets; choose another one that `em-infra etcd list` shows with --from, or restore the state that belongs to it with `em-infra state restore`",
		},
		{
			"another name", func(c *etcdsnapshot.Cluster) { c.Name = "k3s-prod" }, ours,
			"the snapshot 2026-11-20T22-15-00-by-hand is of the cluster k3s-prod, and this is k3s-dev: choose another one that `em-infra etcd list` shows with --from",
		},
		{
			"another minor release of Kubernetes", func(c *etcdsnapshot.Cluster) { c.Kubernetes = "v1.34.2" }, ours,
			"the snapshot 2026-11-20T22-15-00-by-hand is of Kubernetes v1.34.2, and the inventory says v1.35.4, which is another minor release: set kubernetes.version to v1.34.2, restore, then upgrade",
		},
		{
			"another minor release of Talos", func(c *etcdsnapshot.Cluster) { c.Talos = "v1.13.0" }, ours,
			"the snapshot 2026-11-20T22-15-00-by-hand is of Talos v1.13.0, and the inventory says v1.12.4, which is another minor release: set talos.version to v1.13.0, restore, then upgrade",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			identity, err := age.GenerateX25519Identity()
			require.NoError(t, err)
			store := etcdsnapshot.Store{Dir: t.TempDir(), Recipients: []age.Recipient{identity.Recipient()}}
			of := k3s
			test.of(&of)
			saved, err := store.Save(time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC), "by-hand", of, func(to io.Writer) error {
				_, err := to.Write(etcdWith(t, test.sealed))
				return err
			})
			require.NoError(t, err)
			opened, err := store.Open(saved, []age.Identity{identity})
			require.NoError(t, err)
			defer func() { require.NoError(t, opened.Close()) }()

			choice := etcdrestore.Choice{Snapshot: saved, Opened: opened, Cluster: inventory.Cluster{Name: "k3s-dev"}}
			talos, kubernetes := &choice.Cluster.Talos.Version, &choice.Cluster.Kubernetes.Version
			require.NoError(t, talos.UnmarshalText([]byte("v1.12.4")))
			require.NoError(t, kubernetes.UnmarshalText([]byte("v1.35.4")))
			err = choice.Fits(ours[:])
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			require.ErrorAs(t, err, new(*refusal.Error))
		})
	}
}

// TestControlPlanesThatStillRun: one of three is stopped, so that the restore goes on without it. Most of them have to answer or be deleted,
// since the restore also stops for machines that are only off.
func TestControlPlanesThatStillRun(t *testing.T) {
	t.Parallel()
	silent, vmids := errors.New("its Talos API does not answer"), map[string]int{"cp-1": 101, "cp-2": 102, "cp-3": 103}
	const stops = "cp-1 does not answer (its Talos API does not answer) and its VM 101 runs, so its etcd may still work: wait until it answers, or stop it with `qm stop 101` on its host, then run `em-infra etcd restore` again"
	const deletes = "cp-1 does not answer (its Talos API does not answer) and its VM 101 runs, so its etcd may still work: wait until it answers, or reset it with `qm reset 101` on its host; " +
		"if it never answers, delete its VM with `qm stop 101 && qm destroy 101 --purge` on its host, then run `em-infra etcd restore` again"
	one, second, third := etcdrestore.ControlPlane{Node: rolling.Node{Name: "cp-1"}, Problem: silent}, etcdrestore.ControlPlane{Node: rolling.Node{Name: "cp-2"}, Problem: silent}, etcdrestore.ControlPlane{Node: rolling.Node{Name: "cp-3"}, Data: etcdrestore.Some}
	for _, test := range []struct {
		name string
		seen etcdrestore.Seen
		want string
	}{
		{"the only one", etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{one}, Power: map[string]string{"cp-1": "running"}}, deletes},
		{"one of three, of which another is deleted", etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{one, second, third}, Power: map[string]string{"cp-1": "running"}}, stops},
		{"one of three, of which another is off", etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{one, second, third}, Power: map[string]string{"cp-1": "running", "cp-2": "stopped"}}, deletes},
	} {
		require.EqualError(t, test.seen.StillRun(vmids), test.want, test.name)
	}
	require.NoError(t, etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{one}, Power: map[string]string{"cp-1": "stopped"}}.StillRun(vmids))
	reboot := etcdrestore.Seen{ControlPlanes: []etcdrestore.ControlPlane{one, second, third}, Power: map[string]string{"cp-1": "running", "cp-2": "stopped"}, Ordered: []string{"cp-1", "cp-2"}}
	require.NoError(t, reboot.StillRun(vmids), "it reboots, because a run before has ordered that")
	require.True(t, reboot.Rebooting("cp-1"))
	require.False(t, reboot.Rebooting("cp-2"), "its machine is off")
}

// TestControlPlanesThatAreOnlyOffAreStarted: a majority of them has all data, so nothing is restored.
func TestControlPlanesThatAreOnlyOffAreStarted(t *testing.T) {
	t.Parallel()
	seen := []etcdrestore.ControlPlane{{Node: rolling.Node{Name: "cp-1"}, Data: etcdrestore.Some}, {Node: rolling.Node{Name: "cp-2"}}, {Node: rolling.Node{Name: "cp-3"}}}
	for _, test := range []struct {
		name  string
		power map[string]string
		want  string
	}{
		{"two are off", map[string]string{"cp-1": "running", "cp-2": "stopped", "cp-3": "stopped"}, "cp-2, cp-3 of 3 control planes are switched off, and may have all data of etcd: run `em-infra up`, which starts them; only if that does not help, delete their VMs, then run `em-infra etcd restore` again"},
		{"one is off, one is gone", map[string]string{"cp-1": "running", "cp-2": "stopped"}, ""},
		{"two are gone", map[string]string{"cp-1": "running"}, ""},
	} {
		err := etcdrestore.Seen{ControlPlanes: seen, Power: test.power}.MajorityIsOff(nil)
		if test.want == "" {
			require.NoError(t, err, test.name)
		} else {
			require.EqualError(t, err, test.want, test.name)
		}
	}
}

// TestTheOnlyControlPlaneIsNotReplacedWithoutASnapshot of this run, regardless of what is asked for; a run that was killed after it goes on.
func TestTheOnlyControlPlaneIsNotReplacedWithoutASnapshot(t *testing.T) {
	t.Parallel()
	const cp = "k3s-dev-control-1"
	for _, test := range []struct {
		name   string
		begun  string
		failed error
		want   string
	}{
		{
			"etcd runs nowhere", "", nil,
			cp + " is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore`",
		},
		{
			"it gives none", "", errors.New("no control plane gives a snapshot of etcd (" + cp + ": its Talos API does not answer): see `em-infra status`, bring one back, then try again"),
			cp + " is the only control plane, and is not replaced without a snapshot of etcd: no control plane gives a snapshot of etcd (" + cp + ": its Talos API does not answer): see `em-infra status`, bring one back, then try again",
		},
		{
			"nothing can seal it", "", errors.New("it would be sealed with the passphrase of the stack, and there is none"),
			cp + " is the only control plane, and is not replaced without a snapshot of etcd: it would be sealed with the passphrase of the stack, and there is none",
		},
		{
			"an earlier run has one of another control plane", "k3s-dev-control-9", nil,
			cp + " is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore`",
		},
		{"an earlier run has one", cp, errors.New("its machine is gone"), ""},
	} {
		goesOn, err := etcdrestore.CheckOnly(cp, false, test.begun, test.failed)
		require.Equal(t, test.want == "", goesOn, test.name)
		if test.want == "" {
			require.NoError(t, err, test.name)
			continue
		}
		require.EqualError(t, err, test.want, test.name)
		require.ErrorAs(t, err, new(*refusal.Error), test.name)
	}
}

// TestTheOnlyControlPlaneIsReplacedAfterASnapshot of this run, regardless of what an earlier one has begun.
func TestTheOnlyControlPlaneIsReplacedAfterASnapshot(t *testing.T) {
	t.Parallel()
	for _, begun := range []string{"", "k3s-dev-control-1"} {
		goesOn, err := etcdrestore.CheckOnly("k3s-dev-control-1", true, begun, nil)
		require.NoError(t, err)
		require.False(t, goesOn, "it goes on with the new one")
	}
}
