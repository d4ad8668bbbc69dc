package kubectlconfig_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/em-infra/em-infra/operator/internal/kubectlconfig"
)

// of is the kubeconfig of a cluster as a run writes it.
func of(cluster, ca string) *clientcmdapi.Config {
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: "https://192.168.20.10:6443", CertificateAuthorityData: []byte(ca)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin@" + cluster: {ClientCertificateData: []byte("certificate of " + ca), ClientKeyData: []byte("key of " + ca)}},
		Contexts:       map[string]*clientcmdapi.Context{cluster: {Cluster: cluster, Namespace: "default", AuthInfo: "admin@" + cluster}},
		CurrentContext: cluster,
	}
}

var (
	home    = kubectlconfig.Owner{Stack: "home", Project: "/project"}
	another = kubectlconfig.Owner{Stack: "home", Project: "/project", Rehearsed: true}
)

// work is the kubeconfig of a user who has a cluster at work; its paths are relative to it.
const work = `apiVersion: v1
kind: Config
preferences: {}
clusters:
- cluster:
    certificate-authority: work/ca.crt
    server: https://work.example:6443
  name: work
contexts:
- context:
    cluster: work
    extensions:
    - extension:
        last-update: Mon, 02 Jan 2006
      name: others.example
    namespace: team
    user: anna
  name: work
current-context: work
users:
- name: anna
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      interactiveMode: IfAvailable
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func merge(file string, from *clientcmdapi.Config, owner kubectlconfig.Owner, use bool) (*kubectlconfig.Changed, error) {
	return kubectlconfig.Change(file, func(config *clientcmdapi.Config) error { return kubectlconfig.Merge(config, from, owner, use) })
}

func unmerge(t *testing.T, file string, owner kubectlconfig.Owner) *kubectlconfig.Changed {
	t.Helper()
	changed, err := kubectlconfig.Change(file, func(config *clientcmdapi.Config) error {
		kubectlconfig.Unmerge(config, owner)
		return nil
	})
	require.NoError(t, err)
	return changed
}

func load(t *testing.T, file string) *clientcmdapi.Config {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	config, err := clientcmd.Load(text)
	require.NoError(t, err)
	return config
}

// requireMeans checks that a file means what a text does.
func requireMeans(t *testing.T, text, file string) {
	t.Helper()
	want, err := clientcmd.Load([]byte(text))
	require.NoError(t, err)
	require.Equal(t, want, load(t, file))
}

func TestMergeIntoNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".kube", "config")
	changed, err := merge(file, of("home", "a"), home, true)
	require.NoError(t, err)
	require.Equal(t, &kubectlconfig.Changed{File: file, Written: true}, changed)
	merged := load(t, file)
	require.Equal(t, "home", merged.CurrentContext)
	require.Equal(t, []byte("a"), merged.Clusters["home"].CertificateAuthorityData)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	folder, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), folder.Mode().Perm())

	unmerge(t, file, home)
	requireMeans(t, "apiVersion: v1\nkind: Config\n", file)
}

// TestMergeBesideOthers: the user's entries stay, the copy has the former text, a second merge changes nothing, and in the end the file means what
// it meant at first.
func TestMergeBesideOthers(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	require.NoError(t, os.Chmod(file, 0o644)) //nolint:gosec // as a user has left it
	changed, err := merge(file, of("home", "a"), home, false)
	require.NoError(t, err)
	require.Equal(t, file+".before-em-infra", changed.Copy)
	copied, err := os.ReadFile(changed.Copy)
	require.NoError(t, err)
	require.Equal(t, work, string(copied))
	merged := load(t, file)
	require.Equal(t, "work", merged.CurrentContext)
	require.Len(t, merged.Contexts, 2)
	require.Equal(t, "work/ca.crt", merged.Clusters["work"].CertificateAuthority, "it stays relative")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	changed, err = merge(file, of("home", "a"), home, false)
	require.NoError(t, err)
	require.Equal(t, &kubectlconfig.Changed{File: file}, changed)
	require.False(t, unmerge(t, file, another).Written, "that of another stack")
	require.True(t, unmerge(t, file, home).Written)
	requireMeans(t, work, file)
	require.False(t, unmerge(t, file, home).Written)
}

// TestAClusterThatWasMadeAnew: its entries are replaced, and what a person has chosen for the context stays.
func TestAClusterThatWasMadeAnew(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	_, err := merge(file, of("home", "a"), home, true)
	require.NoError(t, err)
	config := load(t, file)
	config.Contexts["home"].Namespace = "mine"
	require.NoError(t, clientcmd.WriteToFile(*config, file))

	changed, err := merge(file, of("home", "b"), home, true)
	require.NoError(t, err)
	require.Empty(t, changed.Copy, "only the first change is copied")
	merged := load(t, file)
	require.Equal(t, []byte("b"), merged.Clusters["home"].CertificateAuthorityData)
	require.Equal(t, []byte("key of b"), merged.AuthInfos["admin@home"].ClientKeyData)
	require.Equal(t, "mine", merged.Contexts["home"].Namespace)
	unmerge(t, file, home)
	requireMeans(t, work, file) // its current context, too
}

func TestTheCurrentContextOfAnotherStays(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	_, err := merge(file, of("home", "a"), home, true)
	require.NoError(t, err)
	config := load(t, file)
	delete(config.Contexts, "work")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	unmerge(t, file, home)
	require.Empty(t, load(t, file).CurrentContext, "the former one is gone")
}

func TestNamesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	_, err := merge(file, of("home", "a"), another, false)
	require.NoError(t, err)
	was, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = merge(file, of("home", "b"), home, true)
	require.ErrorIs(t, err, kubectlconfig.ErrOther)
	require.EqualError(t, err, "cluster home is there already, and is not of this stack\nuser admin@home is there already, and is not of this stack")
	_, err = merge(file, of("work", "b"), home, true)
	require.EqualError(t, err, "cluster work is there already, and is not of this stack\ncontext work is there already, and is not of this stack")
	is, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(was), string(is))
	require.NoFileExists(t, file+".lock")
}

// TestWhatIsThereByHandStays: the same entries that a person has put there carry no mark afterwards, and are not removed.
func TestWhatIsThereByHandStays(t *testing.T) {
	t.Parallel()
	byHand, err := clientcmd.Write(*of("home", "a"))
	require.NoError(t, err)
	file := write(t, string(byHand))
	changed, err := merge(file, of("home", "a"), home, true)
	require.NoError(t, err)
	require.False(t, changed.Written)
	require.False(t, unmerge(t, file, home).Written)
	requireMeans(t, string(byHand), file)
}

func TestALinkStays(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	link := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.Symlink(file, link))
	_, err := merge(link, of("home", "a"), home, false)
	require.NoError(t, err)
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, file, target)
	require.Contains(t, load(t, file).Contexts, "home")

	require.NoError(t, os.Remove(file))
	_, err = merge(link, of("home", "a"), home, false)
	require.EqualError(t, err, link+" is a link to a file that does not exist: make that file, or name another one with --file")
}

func TestABrokenFileIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"clusters: [", "users: secret\n", "kind: Pod\napiVersion: v1\n"} {
		file := write(t, text)
		_, err := merge(file, of("home", "a"), home, false)
		require.EqualError(t, err, file+" is no kubeconfig: correct it, `kubectl config view --kubeconfig "+file+"` says where, or name another file with --file", text)
		is, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(is))
	}
}

func TestAFileThatIsBeingChangedIsLeft(t *testing.T) {
	t.Parallel()
	file := write(t, work)
	require.NoError(t, os.WriteFile(file+".lock", nil, 0o600))
	_, err := merge(file, of("home", "a"), home, false)
	require.EqualError(t, err, file+".lock exists, so another program is changing the file: try again, and remove the lock if there is none")
	require.FileExists(t, file+".lock")
	requireMeans(t, work, file)
}

func TestTheUsualFile(t *testing.T) {
	t.Setenv("KUBECONFIG", string(filepath.ListSeparator)+"/first"+string(filepath.ListSeparator)+"/second")
	require.Equal(t, "/first", kubectlconfig.Usual())
	t.Setenv("KUBECONFIG", "")
	require.Equal(t, clientcmd.RecommendedHomeFile, kubectlconfig.Usual())
}
