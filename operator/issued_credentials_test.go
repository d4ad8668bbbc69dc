package operator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func TestCredentialsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	require.NoError(t, operator.TalosconfigOptions{Role: "os:etcd:backup", TTL: time.Minute}.Check())
	require.NoError(t, operator.KubeconfigOptions{User: "anna", TTL: time.Minute}.Check())
	for _, test := range []struct {
		options  interface{ Check() error }
		sentence string
	}{
		{operator.TalosconfigOptions{Role: "os:root", TTL: time.Hour}, `--role: "os:root" is no role of the Talos API: choose one of os:etcd:backup, os:reader, os:operator, os:admin`},
		{operator.TalosconfigOptions{Role: "os:impersonator", TTL: time.Hour}, `--role: "os:impersonator" is no role of the Talos API: choose one of os:etcd:backup, os:reader, os:operator, os:admin`},
		{operator.TalosconfigOptions{Role: "os:reader", TTL: 59 * time.Second}, "--ttl: a certificate is valid for 1m or longer (got 59s): give a longer time, as in 8h"},
		{operator.KubeconfigOptions{TTL: time.Hour}, "no user is named: add --user NAME, the name in the RoleBindings of Kubernetes"},
		{operator.KubeconfigOptions{User: "system:node:x", TTL: time.Hour}, `--user: "system:node:x" begins with system:, which Kubernetes uses for its own users: choose another name`},
		{operator.KubeconfigOptions{User: "anna", Groups: []string{""}, TTL: time.Hour}, "--group: a group has an empty name: name it, or leave the flag out"},
		{operator.KubeconfigOptions{User: "anna", TTL: -time.Hour}, "--ttl: a certificate is valid for 1m or longer (got -1h0m0s): give a longer time, as in 8h"},
	} {
		err := test.options.Check()
		require.EqualError(t, err, test.sentence)
		var refused *operator.RefusedError
		require.ErrorAs(t, err, &refused)
	}
}

// TestCredentialsAreForTheirOwner: the file can be read by its owner only, and replaces no file that a person named.
func TestCredentialsAreForTheirOwner(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte("name: "+workspace.Project+"\nruntime: go\n"), 0o600))
	o, err := operator.Open(operator.Options{Stack: "home", Project: root})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".credentials", "home"), 0o700))
	issued := &operator.IssuedCredentials{Name: "talosconfig-os-reader", Text: []byte("secret")}
	for _, file := range []string{"", "", filepath.Join(root, "mine")} {
		path, err := o.KeepCredentials(issued, file)
		require.NoError(t, err)
		if file == "" {
			require.Equal(t, filepath.Join(root, ".credentials", "home", "talosconfig-os-reader"), path)
		}
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	_, err = o.KeepCredentials(&operator.IssuedCredentials{Name: "other", Text: []byte("other")}, filepath.Join(root, "mine"))
	require.EqualError(t, err, filepath.Join(root, "mine")+" exists already: name another file, or delete it first")
	kept, err := os.ReadFile(filepath.Join(root, "mine"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(kept))
}
