package rotation_test

import (
	stdx509 "crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// cluster is a CA of the Talos API and its administrator.
func cluster(t *testing.T) (ca, client *x509.PEMEncodedCertificateAndKey) {
	t.Helper()
	made, err := secrets.NewTalosCA(noon)
	require.NoError(t, err)
	ca = x509.NewCertificateAndKeyFromCertificateAuthority(made)
	client, err = secrets.NewAdminCertificateAndKey(noon, ca, role.MakeSet(role.Admin), 8*time.Hour)
	require.NoError(t, err)
	return ca, client
}

func parsed(t *testing.T, text string) *stdx509.Certificate {
	t.Helper()
	pem, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	certificate, err := (&x509.PEMEncodedCertificateAndKey{Crt: pem}).GetCert()
	require.NoError(t, err)
	return certificate
}

// TestANewAuthoritySignsTheSameClient: name, groups, purpose and lifetime are those from before.
func TestANewAuthoritySignsTheSameClient(t *testing.T) {
	t.Parallel()
	for name, issue := range map[string]rotation.NewAuthority{"Talos": rotation.TalosCA, "Kubernetes": rotation.KubernetesCA} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca, client := cluster(t)
			later := noon.Add(time.Hour)
			replacements, err := rotation.Authority(issue, rotation.PairOf(ca.Crt, ca.Key), rotation.PairOf(client.Crt, client.Key), later)
			require.NoError(t, err)
			authority, err := replacements.Authority()
			require.NoError(t, err)
			require.Equal(t, rotation.PairOf(ca.Crt, ca.Key), authority.Old)
			administrator, err := replacements.Client()
			require.NoError(t, err)
			require.Equal(t, rotation.PairOf(client.Crt, client.Key), administrator.Old)

			root, leaf, former := parsed(t, authority.New.Certificate), parsed(t, administrator.New.Certificate), parsed(t, administrator.Old.Certificate)
			require.NoError(t, leaf.CheckSignatureFrom(root))
			require.Equal(t, []any{former.Subject.String(), former.ExtKeyUsage, later, later.Add(8 * time.Hour)},
				[]any{leaf.Subject.String(), leaf.ExtKeyUsage, leaf.NotBefore, leaf.NotAfter})
			require.Equal(t, later.AddDate(0, 0, 3650), root.NotAfter)

			both, err := authority.Both()
			require.NoError(t, err)
			pem, err := base64.StdEncoding.DecodeString(both)
			require.NoError(t, err)
			pool := stdx509.NewCertPool()
			require.True(t, pool.AppendCertsFromPEM(pem))
			for _, one := range []*stdx509.Certificate{leaf, former} {
				_, err := one.Verify(stdx509.VerifyOptions{Roots: pool, CurrentTime: later, KeyUsages: one.ExtKeyUsage})
				require.NoError(t, err)
			}
			require.Equal(t, "crt: "+administrator.Old.Certificate, administrator.Undo("crt: "+administrator.New.Certificate))
		})
	}
}

func TestANoteWithoutACAIsRefused(t *testing.T) {
	t.Parallel()
	_, err := rotation.Replacements{}.Authority()
	require.Equal(t, rotation.ErrNote, err)
	_, err = replaced.Client()
	require.Equal(t, rotation.ErrNote, err)
	_, err = rotation.Authority(rotation.TalosCA, rotation.Pair{Certificate: "%"}, rotation.Pair{Certificate: "%"}, noon)
	require.EqualError(t, err, "a machine secret has a form that cannot be replaced in the state: restore the state from a backup")
}

// TestTheStepsOfANode: a control plane and a worker, which has no key of a CA, come back to a configuration that differs from the first
// one in the CA alone. What the inventory has them accept stays. Each step can be repeated.
func TestTheStepsOfANode(t *testing.T) {
	t.Parallel()
	ca, client := cluster(t)
	other, _ := cluster(t)
	replacements, err := rotation.Authority(rotation.TalosCA, rotation.PairOf(ca.Crt, ca.Key), rotation.PairOf(client.Crt, client.Key), noon)
	require.NoError(t, err)
	change, err := replacements.Authority()
	require.NoError(t, err)
	latter := decoded(t, change.New)

	for _, row := range []struct {
		name string
		key  bool
		own  []*x509.PEMEncodedCertificate
	}{{"control plane", true, nil}, {"worker", false, nil}, {"with a CA of the inventory", true, []*x509.PEMEncodedCertificate{{Crt: other.Crt}}}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			of := func(pair *x509.PEMEncodedCertificateAndKey, accepted ...*x509.PEMEncodedCertificate) *v1alpha1.Config {
				issuing := &x509.PEMEncodedCertificateAndKey{Crt: pair.Crt}
				if row.key {
					issuing.Key = pair.Key
				}
				all := append(append([]*x509.PEMEncodedCertificate(nil), row.own...), accepted...)
				return &v1alpha1.Config{
					MachineConfig: &v1alpha1.MachineConfig{MachineCA: issuing, MachineAcceptedCAs: all},
					ClusterConfig: &v1alpha1.ClusterConfig{ClusterCA: issuing, ClusterAcceptedCAs: all},
				}
			}
			running := of(ca)
			for _, step := range []struct {
				of   func(rotation.Place) func(rotation.Change) (func(*v1alpha1.Config), error)
				want *v1alpha1.Config
			}{
				{func(p rotation.Place) func(rotation.Change) (func(*v1alpha1.Config), error) { return p.Accept }, of(ca, &x509.PEMEncodedCertificate{Crt: latter.Crt})},
				{func(p rotation.Place) func(rotation.Change) (func(*v1alpha1.Config), error) { return p.Issue }, of(latter, &x509.PEMEncodedCertificate{Crt: ca.Crt})},
				{func(p rotation.Place) func(rotation.Change) (func(*v1alpha1.Config), error) { return p.Drop }, of(latter)},
			} {
				for range 2 {
					for _, place := range []rotation.Place{rotation.TalosPlace, rotation.KubernetesPlace} {
						change, err := step.of(place)(change)
						require.NoError(t, err)
						change(running)
					}
					require.Equal(t, step.want, running)
				}
			}
		})
	}
}

func decoded(t *testing.T, pair rotation.Pair) *x509.PEMEncodedCertificateAndKey {
	t.Helper()
	certificate, err := base64.StdEncoding.DecodeString(pair.Certificate)
	require.NoError(t, err)
	key, err := base64.StdEncoding.DecodeString(pair.Key)
	require.NoError(t, err)
	return &x509.PEMEncodedCertificateAndKey{Crt: certificate, Key: key}
}
