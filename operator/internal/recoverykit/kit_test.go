package recoverykit_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

var evening = time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)

func description() recoverykit.Description {
	return recoverykit.Description{
		Stack: "k3s-dev", Cluster: "k3s-dev", Made: evening, Talos: "v1.12.4", Kubernetes: "v1.35.4", CA: strings.Repeat("ca", 32),
		Secrets: strings.Repeat("5e", 32), State: "2026-11-20T22-15-00-for-kit",
	}
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	return identity
}

// saved returns a kit with a secret and a snapshot, and what opens it.
func saved(t *testing.T) (recoverykit.Store, recoverykit.Kit, *age.X25519Identity) {
	t.Helper()
	identity, store := newIdentity(t), recoverykit.Store{Dir: filepath.Join(t.TempDir(), "kit")}
	snapshot := filepath.Join(t.TempDir(), "a.snap.age")
	require.NoError(t, os.WriteFile(snapshot, bytes.Repeat([]byte("sealed"), 1<<16), 0o600))
	kit, err := store.Save(description(), []age.Recipient{identity.Recipient()}, []recoverykit.File{
		recoverykit.Text(recoverykit.MachineSecrets, []byte("hunter2")),
		recoverykit.Text("inventory/cluster.yaml", []byte("kind: Cluster\n")),
		recoverykit.Copy("etcd/a.snap.age", snapshot),
	})
	require.NoError(t, err)
	return store, kit, identity
}

func TestAKitIsSealedAndDescribed(t *testing.T) {
	t.Parallel()
	store, kit, identity := saved(t)
	require.Equal(t, "2026-11-20T22-15-00-kit", kit.Name)
	require.Equal(t, description(), kit.Description)
	entries, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		about, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), about.Mode(), entry.Name())
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"2026-11-20T22-15-00-kit.json", "2026-11-20T22-15-00-kit.md", "2026-11-20T22-15-00-kit.tar.age"}, names, "and no secret in clear")
	page, err := os.ReadFile(kit.Page)
	require.NoError(t, err)
	require.Equal(t, string(recoverykit.PageOf(description())), string(page), "who has to open the kit can read how")
	sealed, err := os.ReadFile(kit.Path)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "hunter2")

	newest, err := store.Newest()
	require.NoError(t, err)
	require.Equal(t, kit, newest)

	opened, err := recoverykit.Open(kit.Path, []age.Identity{newIdentity(t), identity})
	require.NoError(t, err)
	require.Equal(t, description(), opened.Description)
	require.Equal(t, []string{"kit.json", "README.md", "secrets.yaml", "inventory/cluster.yaml", "etcd/a.snap.age"}, opened.Names())
	text, found := opened.File(recoverykit.MachineSecrets)
	require.True(t, found)
	require.Equal(t, "hunter2", string(text))
	_, found = opened.File("etcd/a.snap.age")
	require.False(t, found, "it may be large")
	require.Equal(t, map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")}, opened.In("inventory"))

	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "new"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "new", "b.new"), bytes.Repeat([]byte("x"), 1<<20), 0o600), "what a killed run has left")
	require.NoError(t, opened.Unpack(func(name string) string {
		if name != "etcd/a.snap.age" {
			return ""
		}
		return filepath.Join(folder, "new", "b")
	}))
	about, err := os.Stat(filepath.Join(folder, "new", "b"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), about.Mode())
	require.EqualValues(t, 6<<16, about.Size())
	left, err := os.ReadDir(filepath.Join(folder, "new"))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestWhatIsNoKitOfOurs(t *testing.T) {
	t.Parallel()
	_, kit, identity := saved(t)
	whole, err := os.ReadFile(kit.Path)
	require.NoError(t, err)
	for _, c := range []struct {
		name       string
		text       []byte
		identities []age.Identity
		want       string
	}{
		{"another key", whole, []age.Identity{newIdentity(t)}, "the recovery kit FILE: it is sealed for others"},
		{"no key", whole, nil, "the recovery kit FILE: it is sealed for others"},
		{"cut off", whole[:len(whole)/2], []age.Identity{identity}, "the recovery kit FILE: etcd/a.snap.age: it is damaged or cut off: "},
		{"without its last byte", whole[:len(whole)-1], []age.Identity{identity}, "the recovery kit FILE: etcd/a.snap.age: it is damaged or cut off: "},
		{"no age", []byte("hello"), []age.Identity{identity}, "the recovery kit FILE: it is no file of age: "},
		{"another archive", sealedFor(t, identity, "hello"), []age.Identity{identity}, "the recovery kit FILE: it is damaged or cut off: "},
		{"an empty archive", sealedFor(t, identity, strings.Repeat("\x00", 1024)), []age.Identity{identity}, "the recovery kit FILE: it is no recovery kit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "FILE")
			require.NoError(t, os.WriteFile(file, c.text, 0o600))
			_, err := recoverykit.Open(file, c.identities)
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.want), err.Error())
		})
	}
	_, err = recoverykit.Open(filepath.Join(t.TempDir(), "FILE"), []age.Identity{identity})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func sealedFor(t *testing.T, identity *age.X25519Identity, text string) []byte {
	t.Helper()
	var sealed bytes.Buffer
	to, err := age.Encrypt(&sealed, identity.Recipient())
	require.NoError(t, err)
	_, err = io.WriteString(to, text)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return sealed.Bytes()
}

// TestANameThatLeadsOut: a kit that another person made writes nothing outside of the folder that was chosen.
func TestANameThatLeadsOut(t *testing.T) {
	t.Parallel()
	identity, store := newIdentity(t), recoverykit.Store{Dir: filepath.Join(t.TempDir(), "kit")}
	kit, err := store.Save(description(), []age.Recipient{identity.Recipient()}, []recoverykit.File{recoverykit.Text("inventory/../../x", nil)})
	require.NoError(t, err)
	_, err = recoverykit.Open(kit.Path, []age.Identity{identity})
	require.EqualError(t, err, "the recovery kit "+filepath.Base(kit.Path)+": it is no recovery kit")
}

func TestOldKitsGo(t *testing.T) {
	t.Parallel()
	identity, store := newIdentity(t), recoverykit.Store{Dir: filepath.Join(t.TempDir(), "kit")}
	_, err := store.Newest()
	require.ErrorIs(t, err, recoverykit.ErrNone)
	for day := range 5 {
		of := description()
		of.Made = evening.AddDate(0, 0, day)
		_, err := store.Save(of, []age.Recipient{identity.Recipient()}, nil)
		require.NoError(t, err)
	}
	kits, err := store.List()
	require.NoError(t, err)
	var names []string
	for _, kit := range kits {
		names = append(names, kit.Name)
	}
	require.Equal(t, []string{"2026-11-24T22-15-00-kit", "2026-11-23T22-15-00-kit", "2026-11-22T22-15-00-kit"}, names)

	files, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Len(t, files, 9, "descriptions and pages go with their kits")

	require.NoError(t, os.Remove(strings.TrimSuffix(kits[0].Path, ".tar.age")+".json"))
	newest, err := store.Newest()
	require.NoError(t, err, "a run that was killed leaves out the description")
	require.Equal(t, "2026-11-24T22-15-00-kit", newest.Name)
	require.Empty(t, newest.Secrets)
}

// TestAgeAndTarOpenAKit: as the page says, without em-infra.
func TestAgeAndTarOpenAKit(t *testing.T) {
	t.Parallel()
	_, kit, identity := saved(t)
	sealed, err := os.Open(kit.Path)
	require.NoError(t, err)
	defer sealed.Close()
	clear, err := age.Decrypt(sealed, identity)
	require.NoError(t, err)
	folder := t.TempDir()
	untar := exec.CommandContext(t.Context(), "tar", "--extract", "--file", "-", "--directory", folder)
	untar.Stdin = clear
	output, err := untar.CombinedOutput()
	require.NoError(t, err, "%s", output)
	text, err := os.ReadFile(filepath.Join(folder, recoverykit.MachineSecrets))
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(text))
}

func TestPages(t *testing.T) {
	t.Parallel()
	least := description()
	most := description()
	most.Tool, most.Backend, most.Snapshot, most.SnapshotTaken = "v0.5.0", "s3://states?region=eu-central-1", "2026-11-20T22-15-00-for-kit", evening
	most.Repository, most.Commit = "https://git.example/home/cluster.git", "544e8d6d5e2577a1b0e9f1a8e4c6a0e2d7b39c11"
	most.SealedFor = []string{"age1mlctyyjug8tcnuefthugadpauuc3yv6j0udwhprcd5va02vu6amqp43328"}
	for name, of := range map[string]recoverykit.Description{"least": least, "most": most} {
		golden.Equal(t, filepath.Join("testdata", "page-"+name+".md"), string(recoverykit.PageOf(of)))
	}
}

// TestANewKitStays, even if the clock of this machine was wrong when others were made, so that they count as newer.
func TestANewKitStays(t *testing.T) {
	t.Parallel()
	store, identity := recoverykit.Store{Dir: t.TempDir()}, newIdentity(t)
	later := description()
	later.Made = later.Made.AddDate(1, 0, 0)
	for _, of := range []recoverykit.Description{later, later, later, description()} {
		kit, err := store.Save(of, []age.Recipient{identity.Recipient()}, nil)
		require.NoError(t, err)
		require.FileExists(t, kit.Path)
	}
}
