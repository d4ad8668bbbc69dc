package kitcheck_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/siderolabs/crypto/x509"
	talossecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/operator/internal/kitcheck"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

func TestMain(m *testing.M) { talostest.Main(m) }

var evening = time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)

// cluster is a cluster of which kits are made: its secrets, as Talos has them, in a state and as a bundle.
type cluster struct {
	properties map[string]any
	bundle     machinesecrets.Bundle
}

// theirs are the secrets of another cluster than the emulated ones.
var theirs = sync.OnceValues(talostest.NewSecrets)

func clusterOf(t *testing.T, made func() (*talossecrets.Bundle, error)) cluster {
	t.Helper()
	b, err := made()
	require.NoError(t, err)
	pair := func(p *x509.PEMEncodedCertificateAndKey) map[string]any {
		return map[string]any{"cert": base64.StdEncoding.EncodeToString(p.Crt), "key": base64.StdEncoding.EncodeToString(p.Key)}
	}
	c := cluster{properties: map[string]any{
		"cluster":    map[string]any{"id": b.Cluster.ID, "secret": b.Cluster.Secret},
		"trustdinfo": map[string]any{"token": b.TrustdInfo.Token},
		"secrets":    map[string]any{"bootstrapToken": b.Secrets.BootstrapToken, "secretboxEncryptionSecret": b.Secrets.SecretboxEncryptionSecret},
		"certs": map[string]any{
			"etcd": pair(b.Certs.Etcd), "k8s": pair(b.Certs.K8s), "k8sAggregator": pair(b.Certs.K8sAggregator), "os": pair(b.Certs.OS),
			"k8sServiceaccount": map[string]any{"key": base64.StdEncoding.EncodeToString(b.Certs.K8sServiceAccount.Key)},
		},
	}}
	c.bundle, err = machinesecrets.FromState(c.properties)
	require.NoError(t, err)
	return c
}

func (c cluster) fingerprint(t *testing.T) string {
	t.Helper()
	fingerprint, err := c.bundle.Fingerprint()
	require.NoError(t, err)
	return fingerprint
}

// stateOf returns a state with the machine secrets of a cluster, sealed with a passphrase. The derivation of its key takes a quarter of a
// second of processor time, so it is made once for all tests.
func stateOf(t *testing.T, c cluster, phrase string) []byte {
	t.Helper()
	made, _ := states.LoadOrStore(c.fingerprint(t)+phrase, sync.OnceValue(func() []byte { return sealedState(t, c, phrase) }))
	return made.(func() []byte)()
}

var states sync.Map

// sealedState seals a state as the engine does.
func sealedState(t *testing.T, c cluster, phrase string) []byte {
	t.Helper()
	salt := []byte(rand.Text()[:8])
	sealer := config.NewSymmetricCrypterFromPassphrase(phrase, salt)
	seal := func(text string) string {
		sealed, err := sealer.EncryptValue(t.Context(), text)
		require.NoError(t, err)
		return sealed
	}
	secrets, err := json.Marshal(c.properties)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"version": 3, "deployment": map[string]any{
		"manifest": map[string]any{"time": evening},
		"secrets_providers": map[string]any{
			"type": "passphrase", "state": map[string]any{"salt": "v1:" + base64.StdEncoding.EncodeToString(salt) + ":" + seal("pulumi")},
		},
		"resources": []any{map[string]any{
			"urn": resource.NewURN("k3s-dev", "em-infra", "", token.Secrets, "k3s-dev-secrets"), "type": token.Secrets, "custom": true,
			"outputs": map[string]any{"machineSecrets": map[string]any{sig.Key: sig.Secret, "ciphertext": seal(string(secrets))}},
		}},
	}})
	require.NoError(t, err)
	return text
}

// snapshotFor returns a snapshot of etcd that is sealed for a recipient, and its name.
func snapshotFor(t *testing.T, to age.Recipient) etcdsnapshot.Snapshot {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(file, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		return bucket.Put(binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64(nil, 544), '_'), 0), []byte("value"))
	}))
	require.NoError(t, db.Close())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	store := etcdsnapshot.Store{Dir: filepath.Join(t.TempDir(), "etcd"), Recipients: []age.Recipient{to}}
	saved, err := store.Save(evening, "for-kit", etcdsnapshot.Cluster{Name: "k3s-dev", Talos: "v1.12.4", Kubernetes: "v1.35.4", Nodes: 3}, func(w io.Writer) error {
		_, err := w.Write(append(text, sum[:]...))
		return err
	})
	require.NoError(t, err)
	return saved
}

func inventoryFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "stacks", "k3s-dev", name))
		require.NoError(t, err)
		files[name] = text
	}
	return files
}

// kit is a recovery kit before it is sealed, and what it is compared with; a test changes what it is about.
type kit struct {
	t           *testing.T
	description recoverykit.Description
	files       map[string][]byte
	recipient   age.Recipient
	check       kitcheck.Kit
}

// newKit returns a kit that fits the cluster with these secrets, whose control planes have these addresses.
func newKit(t *testing.T, c cluster, controlPlanes ...netip.Addr) *kit {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	ca, err := c.bundle.CA()
	require.NoError(t, err)
	secrets, err := c.bundle.Text()
	require.NoError(t, err)
	talosconfig, err := c.bundle.Talosconfig("k3s-dev", role.Operator, machinesecrets.Lifetime{From: time.Now(), Until: time.Now().Add(time.Hour)}, controlPlanes)
	require.NoError(t, err)
	k := &kit{
		t: t, recipient: identity.Recipient(),
		description: recoverykit.Description{
			Stack: "k3s-dev", Cluster: "k3s-dev", Made: evening, Talos: "v1.12.4", Kubernetes: "v1.35.4", CA: ca, Secrets: c.fingerprint(t),
			State: "2026-11-20T22-15-00-for-kit",
		},
		files: map[string][]byte{
			recoverykit.MachineSecrets: secrets, recoverykit.Talosconfig: talosconfig, "project/Pulumi.k3s-dev.yaml": []byte("config: {}\n"),
			"state/2026-11-20T22-15-00-for-kit.json": stateOf(t, c, "open sesame"), recoverykit.Passphrase: []byte("open sesame"),
		},
		check: kitcheck.Kit{
			Identities: []age.Identity{identity}, Inventory: t.TempDir(),
			Secrets: func(context.Context) (string, error) { return c.fingerprint(t), nil },
		},
	}
	for name, text := range inventoryFiles(t) {
		k.files["inventory/"+name] = text
		require.NoError(t, os.WriteFile(filepath.Join(k.check.Inventory, name), text, 0o600))
	}
	k.hasSnapshot(snapshotFor(t, k.recipient))
	return k
}

// hasSnapshot puts a snapshot of etcd into the kit.
func (k *kit) hasSnapshot(snapshot etcdsnapshot.Snapshot) {
	k.t.Helper()
	k.description.Snapshot, k.description.SnapshotTaken = snapshot.Name, snapshot.Taken
	for _, file := range snapshot.Files() {
		text, err := os.ReadFile(file)
		require.NoError(k.t, err)
		k.files["etcd/"+filepath.Base(file)] = text
	}
}

// sealedSnapshot returns the name of the snapshot's file in the kit.
func (k *kit) sealedSnapshot() string { return "etcd/" + k.description.Snapshot + ".snap.age" }

// sealed returns a text that is sealed as the kit is.
func (k *kit) sealed(text string) []byte {
	k.t.Helper()
	var sealed bytes.Buffer
	to, err := age.Encrypt(&sealed, k.recipient)
	require.NoError(k.t, err)
	_, err = io.WriteString(to, text)
	require.NoError(k.t, err)
	require.NoError(k.t, to.Close())
	return sealed.Bytes()
}

// writeHere changes a file of the stack's inventory.
func (k *kit) writeHere(name, from, to string) {
	k.t.Helper()
	file := filepath.Join(k.check.Inventory, name)
	text, err := os.ReadFile(file)
	require.NoError(k.t, err)
	require.Contains(k.t, string(text), from)
	require.NoError(k.t, os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
}

// lines seals the kit, opens it, and returns the checks as lines.
func (k *kit) lines() []string {
	k.t.Helper()
	var files []recoverykit.File
	for _, name := range slices.Sorted(maps.Keys(k.files)) {
		files = append(files, recoverykit.Text(name, k.files[name]))
	}
	saved, err := recoverykit.Store{Dir: filepath.Join(k.t.TempDir(), "kit")}.Save(k.description, []age.Recipient{k.recipient}, files)
	require.NoError(k.t, err)
	k.check.Opened, err = recoverykit.Open(saved.Path, k.check.Identities)
	require.NoError(k.t, err)
	report, err := k.check.Check(k.t.Context())
	require.NoError(k.t, err)
	var lines []string
	for _, check := range report {
		line := string(check.Result) + " " + check.Sentence
		if check.Remedy != "" {
			line += ": " + check.Remedy
		}
		lines = append(lines, line)
	}
	return lines
}
