package adoption_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// write writes a bundle as talosctl does.
func write(t *testing.T, bundle *secrets.Bundle) string {
	t.Helper()
	text, err := yaml.Marshal(bundle)
	require.NoError(t, err)
	return writeFile(t, text)
}

func TestSecretsOfAFileAreThoseOfAControlPlane(t *testing.T) {
	t.Parallel()
	made := bundle(t)
	read, err := adoption.ReadSecrets(write(t, made), now)
	require.NoError(t, err)
	found, err := adoption.SecretsIn(configured(t, made, machine.TypeControlPlane), now)
	require.NoError(t, err)
	require.Empty(t, read.Difference(found))
	require.Equal(t, ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short(made.Cluster.ID)}, found.Owner("k3s-dev"))

	talosconfig, err := found.Talosconfig("k3s-dev", []string{"192.168.20.11"})
	require.NoError(t, err)
	endpoints, err := nodeops.Endpoints(talosconfig)
	require.NoError(t, err)
	require.Equal(t, []string{"192.168.20.11"}, endpoints)
}

func TestSecretsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	_, err := adoption.SecretsIn(configured(t, bundle(t), machine.TypeWorker), now)
	require.EqualError(t, err, "its machine configuration is not that of a control plane")
	_, err = adoption.SecretsIn([]byte("secret: ["), now)
	require.EqualError(t, err, "its machine configuration cannot be read")

	_, err = adoption.ReadSecrets("missing.yaml", now)
	require.EqualError(t, err, "the machine secrets cannot be read (stat missing.yaml: no such file or directory): give the file that `talosctl gen secrets` has written")
	for name, spoil := range map[string]func(*secrets.Bundle){
		"no key of Kubernetes": func(b *secrets.Bundle) { b.Certs.K8s.Key = nil },
		"no etcd":              func(b *secrets.Bundle) { b.Certs.Etcd = nil },
		"no token":             func(b *secrets.Bundle) { b.TrustdInfo.Token = "" },
		"no encryption":        func(b *secrets.Bundle) { b.Secrets.SecretboxEncryptionSecret = "" },
		"no service accounts":  func(b *secrets.Bundle) { b.Certs.K8sServiceAccount = nil },
		"no cluster":           func(b *secrets.Bundle) { b.Cluster = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt := bundle(t)
			spoil(spoilt)
			file := write(t, spoilt)
			_, err := adoption.ReadSecrets(file, now)
			require.EqualError(t, err, file+" is no whole bundle of machine secrets: give the file that `talosctl gen secrets` has written, with the keys of all its authorities")
		})
	}
	mixed := bundle(t)
	mixed.Certs.OS.Key = bundle(t).Certs.Etcd.Crt
	_, err = adoption.ReadSecrets(write(t, mixed), now)
	require.EqualError(t, err, "the authority of the Talos API in the machine secrets cannot sign: its key does not fit its certificate")
}
