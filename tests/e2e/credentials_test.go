package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestE2ECredentials: the cluster accepts the credentials that are made for it, as far as their role or group may go.
func TestE2ECredentials(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	r.credentialsHaveARole()
	r.statusListsCredentials()
	r.passphraseIsRotated()
}

// passphraseIsRotated kills a change of the passphrase in its middle. Until it is run again, nothing works on the stack; then the
// cluster is as it was, and the older backups say which passphrase they need.
func (r *rehearsal) passphraseIsRotated() {
	r.t.Helper()
	phrase := filepath.Join(r.t.TempDir(), "phrase")
	require.NoError(r.t, os.WriteFile(phrase, []byte("another passphrase\n"), 0o600))
	rotate := []string{"rotate", "passphrase", "--lab", "--yes", "--new-passphrase-file", phrase}
	seen := len(r.calls())
	note := filepath.Join(r.dir(), "backups", "passphrase-rotation", "Pulumi."+r.stack+".yaml")
	kill := r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the stack's file is kept", func() bool { _, err := os.Stat(note); return err == nil })
	kill()
	require.Contains(r.t, r.mustRun(3, "preview", "--lab"), "a change of the passphrase was cut off: run `em-infra rotate passphrase --stack "+r.stack)
	r.aRunCameBetween(rotate, note)
	kill = r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the stack's file is kept again", func() bool { _, err := os.Stat(note); return err == nil })
	kill()
	r.cutOffBeforeTheState(note)

	former, passphrase := r.read(note), filepath.Join(r.dir(), "passphrase")
	formerPassphrase := r.read(passphrase)
	require.Contains(r.t, r.mustRun(0, rotate...), "the passphrase of stack "+r.stack+" is changed\n")
	r.formerFileIsSealedAnew(rotate, note, former, passphrase, formerPassphrase)
	require.Equal(r.t, "another passphrase", r.read(filepath.Join(r.dir(), "passphrase")))
	r.mustRun(0, "preview", "--lab")
	require.Empty(r.t, writes(r.calls()[seen:]))
	require.Contains(r.t, r.mustRun(3, rotate...), "is sealed with that passphrase already")
	require.Contains(r.t, r.newestBackup(), "-after-rotate")
	require.Contains(r.t, r.mustRun(0, "state", "list", "--lab"), "-after-up-former-passphrase")
	require.Contains(r.t, r.mustRun(3, "state", "restore", "--lab", "--yes", "--from", r.formerBackup()), "needs the passphrase from before it was changed: ")
}

// aRunCameBetween changes the state as a plain Pulumi does that is killed after a rotation was cut off: the rotation gives up, so that `up` can
// settle it.
func (r *rehearsal) aRunCameBetween(rotate []string, note string) {
	r.t.Helper()
	var state map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(r.read(r.stateFile())), &state))
	latest := state["checkpoint"].(map[string]any)["latest"].(map[string]any)
	resources := latest["resources"].([]any)
	latest["pending_operations"] = []any{map[string]any{"resource": resources[len(resources)-1], "type": "updating"}}
	text, err := json.Marshal(state)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(r.stateFile(), text, 0o600))

	require.Contains(r.t, r.mustRun(3, rotate...), "was killed and is not settled: run `em-infra up --stack "+r.stack)
	require.NoFileExists(r.t, note)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(r.t, r.pending())
}

// formerFileIsSealedAnew sets up what a rotation leaves if it is cut off after the state was sealed: the stack's file is still the former one. The
// command asks for the former passphrase, and completes with it.
func (r *rehearsal) formerFileIsSealedAnew(rotate []string, note, file, passphrase, former string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(note), 0o700))
	for _, path := range []string{note, filepath.Join(r.dir(), filepath.Base(note))} {
		require.NoError(r.t, os.WriteFile(path, []byte(file), 0o600))
	}
	require.Contains(r.t, r.mustRun(3, rotate...), "the state has the new passphrase, and neither that nor the one that is set opens ")
	require.NoError(r.t, os.WriteFile(passphrase, []byte(former), 0o600))
	require.Contains(r.t, r.mustRun(0, rotate...), "the passphrase of stack "+r.stack+" is changed\n")
}

// cutOffBeforeTheState sets up what a kill leaves after Pulumi has written the salt of the new passphrase: a file with old secrets, which neither
// passphrase opens.
func (r *rehearsal) cutOffBeforeTheState(note string) {
	r.t.Helper()
	file := filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml")
	_, rest, found := strings.Cut(r.read(note), "encryptionsalt: ")
	require.True(r.t, found)
	salt, _, _ := strings.Cut(rest, "\n")
	require.NoError(r.t, os.WriteFile(file, []byte(strings.Replace(r.read(note), salt, "v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:AAAA", 1)), 0o600))
	require.Contains(r.t, r.mustRun(3, "status", "--lab"), "a change of the passphrase was cut off")
}

// formerBackup returns the name of a backup from before the passphrase was changed.
func (r *rehearsal) formerBackup() string {
	r.t.Helper()
	for _, name := range strings.Fields(r.mustRun(0, "state", "list", "--lab")) {
		if strings.HasSuffix(name, "-former-passphrase") {
			return name
		}
	}
	require.Fail(r.t, "there is none")
	return ""
}

// statusListsCredentials: the credentials that expire first come first, and each has the end that the cluster or the host gave it.
func (r *rehearsal) statusListsCredentials() {
	r.t.Helper()
	var kinds []string
	for _, credential := range r.status(0).Credentials {
		kinds = append(kinds, string(credential.Kind))
		require.Empty(r.t, credential.Problem, credential.Kind)
		require.False(r.t, credential.Due, credential.Kind)
	}
	require.ElementsMatch(r.t, []string{"talosconfig", "kubeconfig"}, kinds[:2])
	require.ElementsMatch(r.t, []string{"Talos CA", "Kubernetes CA", "etcd CA", "aggregator CA"}, kinds[2:6])
	require.Equal(r.t, []string{"Proxmox token", "service account key", "encryption key", "join tokens", "state secrets"}, kinds[6:])
}

// credentialsHaveARole makes a talosconfig that may only read, and kubeconfigs of an administrator and of an unknown user.
func (r *rehearsal) credentialsHaveARole() {
	r.t.Helper()
	ctx := r.t.Context()
	require.Contains(r.t, r.mustRun(0, "credentials", "new", "--lab", "--role", "os:reader", "--ttl", "8h"), "/talosconfig-os-reader: a talosconfig with the role os:reader, until ")
	api, err := client.New(ctx, client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig-os-reader")))
	require.NoError(r.t, err)
	defer api.Close()
	control := client.WithNode(ctx, r.nodes()[0])
	_, err = api.Version(control)
	require.NoError(r.t, err)
	require.Equal(r.t, codes.PermissionDenied, status.Code(api.Reboot(control)))

	own := filepath.Join(r.t.TempDir(), "own.yaml")
	r.mustRun(0, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--group", "system:masters", "--out", own)
	require.Contains(r.t, r.mustRun(3, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--out", own), "own.yaml exists already: ")
	_, err = kubernetesWith(r.t, r.read(own)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(r.t, err)
	printed, err := r.command(ctx, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--out", "-", "--stack", r.stack, "--inventory", r.inventory).Output()
	require.NoError(r.t, err)
	_, err = kubernetesWith(r.t, string(printed)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.True(r.t, apierrors.IsForbidden(err), "%v", err)

	info, err := os.Stat(own)
	require.NoError(r.t, err)
	require.Equal(r.t, os.FileMode(0o600), info.Mode())
}

func kubernetesWith(t testing.TB, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	require.NoError(t, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return api
}
