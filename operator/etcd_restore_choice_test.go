package operator

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

			s := &session{inventory: &inventory.Inventory{Cluster: inventory.Cluster{Name: "k3s-dev"}}}
			talos, kubernetes := &s.inventory.Cluster.Talos.Version, &s.inventory.Cluster.Kubernetes.Version
			require.NoError(t, talos.UnmarshalText([]byte("v1.12.4")))
			require.NoError(t, kubernetes.UnmarshalText([]byte("v1.35.4")))
			err = s.fits(&etcdRestoration{snapshot: saved, opened: opened}, ours[:])
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			var refusal *RefusedError
			require.ErrorAs(t, err, &refusal)
		})
	}
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
		err := (&etcdRestoration{seen: seen, power: test.power}).majorityIsOff()
		if test.want == "" {
			require.NoError(t, err, test.name)
		} else {
			require.EqualError(t, err, test.want, test.name)
		}
	}
}

// TestTheOnlyControlPlaneIsNotReplacedWithoutASnapshot of this run, whatever is asked for; a run that was killed after it goes on.
func TestTheOnlyControlPlaneIsNotReplacedWithoutASnapshot(t *testing.T) {
	t.Parallel()
	const cp = "k3s-dev-control-1"
	for _, test := range []struct {
		name   string
		begun  *etcdRestoration
		failed error
		want   string
	}{
		{
			"etcd runs nowhere", nil, nil,
			cp + " is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore --stack k3s-dev`",
		},
		{
			"it gives none", nil, errors.New("no control plane gives a snapshot of etcd (" + cp + ": its Talos API does not answer): see `em-infra status`, bring one back, then try again"),
			cp + " is the only control plane, and is not replaced without a snapshot of etcd: no control plane gives a snapshot of etcd (" + cp + ": its Talos API does not answer): see `em-infra status`, bring one back, then try again",
		},
		{
			"nothing can seal it", nil, errors.New("it would be sealed with the passphrase of the stack, and there is none"),
			cp + " is the only control plane, and is not replaced without a snapshot of etcd: it would be sealed with the passphrase of the stack, and there is none",
		},
		{
			"an earlier run has one of another control plane", &etcdRestoration{note: restoreNote{On: "k3s-dev-control-9"}}, nil,
			cp + " is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore --stack k3s-dev`",
		},
		{"an earlier run has one", &etcdRestoration{note: restoreNote{On: cp}}, errors.New("its machine is gone"), ""},
	} {
		s := &session{etcdRestore: test.begun}
		s.place.Stack = "--stack k3s-dev"
		err := s.replaceOnly(t.Context(), cp, nil, test.failed)
		if test.want == "" {
			require.NoError(t, err, test.name)
			continue
		}
		require.EqualError(t, err, test.want, test.name)
		var refusal *RefusedError
		require.ErrorAs(t, err, &refusal, test.name)
	}
}
