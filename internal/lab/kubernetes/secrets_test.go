package kubernetes_test

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
)

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t, ourSecrets), filepath.Join(t.TempDir(), "cluster")
	require.NoError(t, kubernetes.Prepare(dir, s.node(101, machine.TypeControlPlane)))
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if entry.IsDir() {
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), path)
			return nil
		}
		files++
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
		return nil
	}))
	require.Equal(t, 25, files)
}

func certificate(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "secrets", name))
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	parsed, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return parsed
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t, ourSecrets), t.TempDir()
	require.NoError(t, kubernetes.Prepare(dir, s.node(101, machine.TypeControlPlane), s.node(102, machine.TypeControlPlane)))
	for _, row := range []struct {
		name, authority string
		usage           x509.ExtKeyUsage
		hosts           []string
	}{
		{"apiserver.crt", "ca.crt", x509.ExtKeyUsageServerAuth, []string{
			"127.0.0.1", number(s.network, 10).String(), number(s.network, 11).String(), number(s.network, 12).String(), "10.96.0.1",
			"node-101", "node-102", "api.example.org", "localhost", "kubernetes.default.svc.cluster.local",
		}},
		{"etcd.crt", "etcd-ca.crt", x509.ExtKeyUsageServerAuth, []string{"127.0.0.1"}},
		{"etcd-client.crt", "etcd-ca.crt", x509.ExtKeyUsageClientAuth, nil},
		{"apiserver-kubelet-client.crt", "issuing-ca.crt", x509.ExtKeyUsageClientAuth, nil},
		{"front-proxy-client.crt", "aggregator-ca.crt", x509.ExtKeyUsageClientAuth, nil},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(certificate(t, dir, row.authority))
		leaf := certificate(t, dir, row.name)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{row.usage}})
		require.NoError(t, err, row.name)
		for _, host := range row.hosts {
			require.NoError(t, leaf.VerifyHostname(host), row.name)
		}
	}
}

func TestControlPlaneWithoutAuthorities(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	node := s.node(101, machine.TypeControlPlane, func(c *v1alpha1.Config) { c.ClusterConfig.ClusterServiceAccount = nil })
	require.EqualError(t, kubernetes.Prepare(t.TempDir(), node),
		"the machine configuration of a control plane lacks an authority or the service account key")
}
