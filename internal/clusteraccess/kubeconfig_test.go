package clusteraccess_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/clusteraccess"
)

const made = `apiVersion: v1
kind: Config
clusters:
    - name: k3s-dev
      cluster:
        server: https://192.168.20.10:6443
        certificate-authority-data: bWFkZS11cA==
users:
    - name: admin@k3s-dev
      user:
        client-key-data: bWFkZS11cA==
`

func TestAnotherEndpoint(t *testing.T) {
	t.Parallel()

	same, err := clusteraccess.KubeconfigAt(made, "https://192.168.20.10:6443")
	require.NoError(t, err)
	require.Equal(t, made, same, "not a byte changes without need")

	moved, err := clusteraccess.KubeconfigAt(made, "https://192.168.20.9:6443")
	require.NoError(t, err)
	require.Equal(t, `apiVersion: v1
kind: Config
clusters:
    - name: k3s-dev
      cluster:
        server: https://192.168.20.9:6443
        certificate-authority-data: bWFkZS11cA==
users:
    - name: admin@k3s-dev
      user:
        client-key-data: bWFkZS11cA==
`, moved)
}

func TestWhatIsNoKubeconfigIsNotQuoted(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"", "secret", "clusters: secret", "clusters: [secret]", "clusters: [{cluster: {server: [secret]}}]", "a: b: secret"} {
		_, err := clusteraccess.KubeconfigAt(text, "https://192.168.20.9:6443")
		require.EqualError(t, err, "the kubeconfig that Talos made cannot be read: run up again", text)
	}
}

// TestTheContextHasTheNameOfTheCluster: the name that Talos gives also contains the user. A context that is not the current one, and several
// contexts, keep their names.
func TestTheContextHasTheNameOfTheCluster(t *testing.T) {
	t.Parallel()
	contexts := func(name, more, current string) string {
		return made + "contexts:\n    - context:\n        cluster: k3s-dev\n        namespace: default\n        user: admin@k3s-dev\n      name: " + name + "\n" + more + "current-context: " + current + "\n"
	}
	const other = "    - context:\n        cluster: other\n      name: other\n"
	for _, test := range []struct{ text, want string }{
		{contexts("admin@k3s-dev", "", "admin@k3s-dev"), contexts("k3s-dev", "", "k3s-dev")},
		{contexts("k3s-dev", "", "k3s-dev"), contexts("k3s-dev", "", "k3s-dev")},
		{contexts("admin@k3s-dev", "", "another"), contexts("admin@k3s-dev", "", "another")},
		{contexts("admin@k3s-dev", other, "other"), contexts("admin@k3s-dev", other, "other")},
	} {
		named, err := clusteraccess.KubeconfigAt(test.text, "https://192.168.20.10:6443")
		require.NoError(t, err)
		require.Equal(t, test.want, named)
	}
}
