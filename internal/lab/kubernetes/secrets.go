package kubernetes

import (
	"bytes"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/kubeconfig"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// validity of all certificates (secrets/kubernetes.go).
const validity = constants.KubernetesDefaultCertificateValidityDuration

// Purposes of certificates.
var (
	server = []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}
	client = []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}
	peer   = []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth, stdx509.ExtKeyUsageClientAuth}
)

var errNoAuthority = errors.New("the machine configuration of a control plane lacks an authority or the service account key")

// writeSecrets writes the keys and certificates of the components (k8s/render_secrets_static_pod.go and
// secrets/kubernetes_dynamic_certs.go).
func (f folder) writeSecrets(cfg config.Provider) error {
	cluster := cfg.Cluster()
	etcd, issuing, aggregator := cluster.Etcd().CA(), cluster.IssuingCA(), cluster.AggregatorCA()
	if etcd == nil || issuing == nil || aggregator == nil || cluster.ServiceAccount() == nil {
		return errNoAuthority
	}
	account, err := cluster.ServiceAccount().GetKey()
	if err != nil {
		return fmt.Errorf("parse the service account key: %w", err)
	}
	return errors.Join(
		write(f.secret("ca.crt"), bundle(cfg)),
		write(f.secret("issuing-ca.crt"), issuing.Crt),
		write(f.secret("issuing-ca.key"), issuing.Key),
		write(f.secret("etcd-ca.crt"), etcd.Crt),
		write(f.secret("aggregator-ca.crt"), aggregator.Crt),
		write(f.secret("service-account.pub"), account.GetPublicKeyPEM()),
		write(f.secret("service-account.key"), account.GetPrivateKeyPEM()),
		f.issue("etcd", etcd, peer, x509.CommonName("etcd"), x509.IPAddresses([]net.IP{local(0).Addr().AsSlice()})),
		f.issue("etcd-client", etcd, client, x509.CommonName("kube-apiserver")),
		f.issue("apiserver-kubelet-client", issuing, client,
			x509.CommonName(constants.KubernetesAPIServerKubeletClientCommonName),
			x509.Organization(constants.KubernetesAdminCertOrganization)),
		f.issue("front-proxy-client", aggregator, client, x509.CommonName("front-proxy-client")),
	)
}

// bundle returns the accepted authorities in PEM.
func bundle(cfg config.Provider) []byte {
	var all []byte
	for _, ca := range authorities(cfg) {
		all = append(all, ca.Crt...)
	}
	return all
}

// issue writes a key with its certificate: NAME.key and NAME.crt.
func (f folder) issue(name string, ca *x509.PEMEncodedCertificateAndKey, usage []stdx509.ExtKeyUsage, options ...x509.Option) error {
	authority, err := x509.NewCertificateAuthorityFromCertificateAndKey(ca)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	options = append(options, x509.NotAfter(time.Now().Add(validity)), x509.ExtKeyUsage(usage),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature|stdx509.KeyUsageKeyEncipherment))
	pair, err := x509.NewKeyPair(authority, options...)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	issued := x509.NewCertificateAndKeyFromKeyPair(pair)
	return errors.Join(write(f.secret(name+".key"), issued.Key), write(f.secret(name+".crt"), issued.Crt))
}

// servingNames returns the names and addresses of the API server (secrets/kubernetes_cert_sans.go), on all control planes.
func servingNames(nodes []talos.KubernetesNode) (secrets.CertSANSpec, error) {
	var names secrets.CertSANSpec
	for _, node := range nodes {
		cluster := node.Config.Cluster()
		services, err := cluster.Network().APIServerIPs()
		if err != nil {
			return names, fmt.Errorf("service addresses of the API server: %w", err)
		}
		names.Append(cluster.Endpoint().Hostname(), node.Hostname, node.FQDN)
		names.Append(cluster.CertSANs()...)
		names.AppendDNSNames("kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc."+cluster.Network().DNSDomain(), "localhost")
		names.AppendIPs(services...)
		names.AppendIPs(nodeAddresses(node)...)
	}
	names.AppendIPs(local(0).Addr())
	names.Sort()
	return names, nil
}

func (f folder) writeServingCertificate(cfg config.Provider, names secrets.CertSANSpec) error {
	return f.issue("apiserver", cfg.Cluster().IssuingCA(), server, x509.CommonName("kube-apiserver"),
		x509.Organization("kube-master"), x509.IPAddresses(names.StdIPs()), x509.DNSNames(names.DNSNames))
}

// writeKubeconfigs writes the kubeconfigs of the components (secrets/kubernetes.go).
func (f folder) writeKubeconfigs(cfg config.Provider, api netip.AddrPort) error {
	var errs []error
	for _, user := range []struct{ file, name, organization string }{
		{"controller-manager.kubeconfig", constants.KubernetesControllerManagerOrganization, constants.KubernetesControllerManagerOrganization},
		{"scheduler.kubeconfig", constants.KubernetesSchedulerOrganization, constants.KubernetesSchedulerOrganization},
		{"admin.kubeconfig", constants.KubernetesTalosAdminCertCommonName, constants.KubernetesAdminCertOrganization},
	} {
		text, err := kubeconfigFor(cfg, api, user.name, user.organization)
		if err == nil {
			err = write(f.secret(user.file), text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// kubeconfigFor returns a kubeconfig from Talos' own generator. cfg is the configuration of a control plane.
func kubeconfigFor(cfg config.Provider, api netip.AddrPort, name, organization string) ([]byte, error) {
	var text bytes.Buffer
	err := kubeconfig.Generate(&kubeconfig.GenerateInput{
		ClusterName: cfg.Cluster().Name(), IssuingCA: cfg.Cluster().IssuingCA(), AcceptedCAs: authorities(cfg),
		CertificateLifetime: validity, CommonName: name, Organization: organization,
		Endpoint: "https://" + api.String(), Username: name, ContextName: "default",
	}, &text)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	return text.Bytes(), nil
}

// kubeletClient returns the client configuration of a kubelet, with the certificate that a real kubelet gets for its
// bootstrap token.
func (p *controlPlane) kubeletClient(hostname string) (*rest.Config, error) {
	text, err := kubeconfigFor(p.currentConfig(), p.api(), "system:node:"+hostname, "system:nodes")
	if err != nil {
		return nil, err
	}
	return clientcmd.RESTConfigFromKubeConfig(text)
}
