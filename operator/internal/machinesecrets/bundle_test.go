package machinesecrets_test

import (
	"encoding/base64"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
)

var morning = time.Date(2026, 11, 21, 9, 14, 3, 0, time.UTC)

// generated is a bundle as Talos makes it; its RSA key takes seconds.
var generated = sync.OnceValues(func() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewFixedClock(morning), config.TalosVersion1_12)
})

// made returns a bundle as Talos makes it, and as the provider writes it into a state.
func made(t *testing.T) (*secrets.Bundle, map[string]any) {
	t.Helper()
	bundle, err := generated()
	require.NoError(t, err)
	pair := func(p *x509.PEMEncodedCertificateAndKey) map[string]any {
		return map[string]any{"cert": base64.StdEncoding.EncodeToString(p.Crt), "key": base64.StdEncoding.EncodeToString(p.Key)}
	}
	return bundle, map[string]any{
		"cluster":    map[string]any{"id": bundle.Cluster.ID, "secret": bundle.Cluster.Secret},
		"trustdinfo": map[string]any{"token": bundle.TrustdInfo.Token},
		"secrets": map[string]any{
			"bootstrapToken": bundle.Secrets.BootstrapToken, "secretboxEncryptionSecret": bundle.Secrets.SecretboxEncryptionSecret,
		},
		"certs": map[string]any{
			"etcd": pair(bundle.Certs.Etcd), "k8s": pair(bundle.Certs.K8s), "k8sAggregator": pair(bundle.Certs.K8sAggregator), "os": pair(bundle.Certs.OS),
			"k8sServiceaccount": map[string]any{"key": base64.StdEncoding.EncodeToString(bundle.Certs.K8sServiceAccount.Key)},
		},
	}
}

// TestABundleIsThatOfTalos: Talos' own loader reads what we write, and finds what was in the state.
func TestABundleIsThatOfTalos(t *testing.T) {
	t.Parallel()
	want, properties := made(t)
	bundle, err := machinesecrets.FromState(properties)
	require.NoError(t, err)
	text, err := bundle.Text()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "secrets.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	loaded, err := secrets.LoadBundle(file)
	require.NoError(t, err)
	loaded.Clock = want.Clock
	require.Equal(t, want, loaded)

	again, err := machinesecrets.Parse(text)
	require.NoError(t, err)
	one, err := bundle.Fingerprint()
	require.NoError(t, err)
	other, err := again.Fingerprint()
	require.NoError(t, err)
	require.Equal(t, one, other)
	ca, err := bundle.CA()
	require.NoError(t, err)
	require.Len(t, ca, 64)

	properties["cluster"].(map[string]any)["secret"] = "another"
	changed, err := machinesecrets.FromState(properties)
	require.NoError(t, err)
	different, err := changed.Fingerprint()
	require.NoError(t, err)
	require.NotEqual(t, one, different)
}

func TestAnIncompleteBundleIsNotQuoted(t *testing.T) {
	t.Parallel()
	for _, path := range [][2]string{{"cluster", "id"}, {"secrets", "bootstrapToken"}, {"trustdinfo", "token"}, {"certs", "os"}, {"certs", "k8sServiceaccount"}} {
		_, properties := made(t)
		properties[path[0]].(map[string]any)[path[1]] = "%"
		if path[0] != "certs" {
			properties[path[0]].(map[string]any)[path[1]] = ""
		}
		_, err := machinesecrets.FromState(properties)
		require.EqualError(t, err, "the machine secrets are not complete", "%v", path)
	}
	_, err := machinesecrets.Parse([]byte("cluster: [hunter2"))
	require.EqualError(t, err, "the machine secrets are not complete")
	_, err = machinesecrets.Parse(nil)
	require.EqualError(t, err, "the machine secrets are not complete")
}

func TestATalosconfigHasOneRole(t *testing.T) {
	t.Parallel()
	want, properties := made(t)
	bundle, err := machinesecrets.FromState(properties)
	require.NoError(t, err)
	lifetime, err := bundle.UntilCAEnds(morning)
	require.NoError(t, err)
	text, err := bundle.Talosconfig("k3s-dev", role.Operator, lifetime, []netip.Addr{netip.MustParseAddr("192.168.20.11"), netip.MustParseAddr("192.168.20.12")})
	require.NoError(t, err)
	config, err := clientconfig.FromBytes(text)
	require.NoError(t, err)
	require.Equal(t, "k3s-dev", config.Context)
	entry := config.Contexts["k3s-dev"]
	require.Equal(t, []string{"192.168.20.11", "192.168.20.12"}, entry.Endpoints)
	require.Equal(t, entry.Endpoints, entry.Nodes)
	pem, err := base64.StdEncoding.DecodeString(entry.Crt)
	require.NoError(t, err)
	certificate, err := (&x509.PEMEncodedCertificateAndKey{Crt: pem}).GetCert()
	require.NoError(t, err)
	require.Equal(t, []string{"os:operator"}, certificate.Subject.Organization)
	ca, err := want.Certs.OS.GetCert()
	require.NoError(t, err)
	require.NoError(t, certificate.CheckSignatureFrom(ca))
	require.Equal(t, ca.NotAfter, certificate.NotAfter)
}
