package machinesecrets

import (
	stdx509 "crypto/x509"
	"fmt"
	"net/netip"
	"time"

	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Lifetime is how long a client certificate is valid.
type Lifetime struct {
	// From is the begin, Until the end. The end is not after that of the CA.
	From, Until time.Time
}

// LifetimeError means that a client certificate would end after the CA that signs it, and would be refused from then on.
type LifetimeError struct {
	// Until is the end of the certificate, CA the end of the CA.
	Until, CA time.Time
}

func (e *LifetimeError) Error() string {
	return fmt.Sprintf("the certificate would end on %s, after its CA (%s)", e.Until.UTC().Format(time.DateOnly), e.CA.UTC().Format(time.DateOnly))
}

// UntilCAEnds returns the lifetime from a time on until the end of the CA of the Talos API, ten years after the cluster was made.
func (b Bundle) UntilCAEnds(from time.Time) (Lifetime, error) {
	ca, err := b.bundle.Certs.OS.GetCert()
	if err != nil {
		return Lifetime{}, ErrIncomplete
	}
	return Lifetime{From: from, Until: ca.NotAfter}, nil
}

// Talosconfig returns a talosconfig with a role for the Talos APIs at addresses. The error is [LifetimeError] or [ErrIncomplete].
func (b Bundle) Talosconfig(cluster string, as role.Role, valid Lifetime, addresses []netip.Addr) ([]byte, error) {
	if err := valid.within(b.bundle.Certs.OS); err != nil {
		return nil, err
	}
	client, err := secrets.NewAdminCertificateAndKey(valid.From, b.bundle.Certs.OS, role.MakeSet(as), valid.Until.Sub(valid.From))
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the Talos API: %w", ErrIncomplete)
	}
	endpoints := make([]string, len(addresses))
	for i, address := range addresses {
		endpoints[i] = address.String()
	}
	config := clientconfig.NewConfig(cluster, endpoints, b.bundle.Certs.OS.Crt, client)
	config.Contexts[cluster].Nodes = endpoints
	return config.Bytes()
}

// KubernetesUser is what a client certificate says about its owner. Kubernetes decides by its RoleBindings what that user may do.
type KubernetesUser struct {
	// Name is the name of the user.
	Name string
	// Groups of the user. system:masters may do everything, regardless of the RoleBindings.
	Groups []string
}

// Kubeconfig returns a kubeconfig for the Kubernetes API at a URL, in the form of the kubeconfig that Talos makes (talos v1.12.0,
// pkg/kubeconfig/generate.go). The error is [LifetimeError] or [ErrIncomplete].
func (b Bundle) Kubeconfig(cluster string, user KubernetesUser, valid Lifetime, server string) ([]byte, error) {
	pair := b.bundle.Certs.K8s
	if err := valid.within(pair); err != nil {
		return nil, err
	}
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(pair)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for Kubernetes: %w", ErrIncomplete)
	}
	keys, err := x509.NewKeyPair(ca, x509.CommonName(user.Name), x509.Organization(user.Groups...),
		x509.NotBefore(valid.From), x509.NotAfter(valid.Until),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature|stdx509.KeyUsageKeyEncipherment),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}))
	if err != nil {
		return nil, fmt.Errorf("make a certificate for Kubernetes: %w", ErrIncomplete)
	}
	client, name := x509.NewCertificateAndKeyFromKeyPair(keys), user.Name+"@"+cluster
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: server, CertificateAuthorityData: pair.Crt}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: client.Crt, ClientKeyData: client.Key}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: cluster, Namespace: "default", AuthInfo: name}},
		CurrentContext: name,
	})
}

// within refuses a lifetime that does not end with the CA or before.
func (l Lifetime) within(pair *x509.PEMEncodedCertificateAndKey) error {
	ca, err := pair.GetCert()
	if err != nil {
		return ErrIncomplete
	}
	if l.Until.After(ca.NotAfter) {
		return &LifetimeError{Until: l.Until, CA: ca.NotAfter}
	}
	return nil
}
