package machinesecrets_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
)

// TestATalosconfigOpensWhatItsRoleMay: a node accepts the certificate, and lets it read and not reboot.
func TestATalosconfigOpensWhatItsRoleMay(t *testing.T) {
	t.Parallel()
	cluster := talostest.NewCluster(t, "v1.12.4", "1.35.4", talos.Config{})
	cluster.Join(talostest.First, "control-1", machinetype.TypeControlPlane)
	text, err := yaml.Marshal(cluster.Secrets())
	require.NoError(t, err)
	bundle, err := machinesecrets.Parse(text)
	require.NoError(t, err)
	now := time.Now()
	made, err := bundle.Talosconfig("home", role.Reader, machinesecrets.Lifetime{From: now.Add(-time.Minute), Until: now.Add(8 * time.Hour)}, []netip.Addr{cluster.Address(talostest.First)})
	require.NoError(t, err)
	config, err := clientconfig.FromBytes(made)
	require.NoError(t, err)
	api, err := client.New(t.Context(), client.WithConfig(config))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	_, err = api.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, codes.PermissionDenied, status.Code(api.Reboot(t.Context())))
}

func TestAKubeconfigNamesItsUser(t *testing.T) {
	t.Parallel()
	want, properties := made(t)
	bundle, err := machinesecrets.FromState(properties)
	require.NoError(t, err)
	lifetime := machinesecrets.Lifetime{From: morning, Until: morning.Add(8 * time.Hour)}
	user := machinesecrets.KubernetesUser{Name: "anna", Groups: []string{"view", "debug"}}
	text, err := bundle.Kubeconfig("k3s-dev", user, lifetime, "https://192.168.20.10:6443")
	require.NoError(t, err)
	config, err := clientcmd.Load(text)
	require.NoError(t, err)
	require.Equal(t, "anna@k3s-dev", config.CurrentContext)
	require.Equal(t, "k3s-dev", config.Contexts["anna@k3s-dev"].Cluster)
	require.Equal(t, "https://192.168.20.10:6443", config.Clusters["k3s-dev"].Server)
	require.Equal(t, want.Certs.K8s.Crt, config.Clusters["k3s-dev"].CertificateAuthorityData)
	block, _ := pem.Decode(config.AuthInfos[config.Contexts["anna@k3s-dev"].AuthInfo].ClientCertificateData)
	require.NotNil(t, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.Equal(t, "anna", certificate.Subject.CommonName)
	require.Equal(t, user.Groups, certificate.Subject.Organization)
	require.Equal(t, lifetime, machinesecrets.Lifetime{From: certificate.NotBefore, Until: certificate.NotAfter})
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, certificate.ExtKeyUsage)
	ca, err := want.Certs.K8s.GetCert()
	require.NoError(t, err)
	require.NoError(t, certificate.CheckSignatureFrom(ca))
}

func TestNoCertificateOutlivesItsCA(t *testing.T) {
	t.Parallel()
	_, properties := made(t)
	bundle, err := machinesecrets.FromState(properties)
	require.NoError(t, err)
	late := machinesecrets.Lifetime{From: morning, Until: morning.AddDate(11, 0, 0)}
	const sentence = "the certificate would end on 2037-11-21, after its CA (2036-11-18)"
	_, err = bundle.Talosconfig("k3s-dev", role.Reader, late, nil)
	require.EqualError(t, err, sentence)
	_, err = bundle.Kubeconfig("k3s-dev", machinesecrets.KubernetesUser{Name: "anna"}, late, "https://192.168.20.10:6443")
	require.EqualError(t, err, sentence)
}
