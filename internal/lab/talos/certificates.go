package talos

import (
	"bytes"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	talostls "github.com/siderolabs/crypto/tls"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

// keyring holds apid's certificates and trusted authorities. They can change during open connections.
type keyring struct{ current atomic.Pointer[issued] }

// issued are the current certificates.
type issued struct {
	server   tls.Certificate
	client   *tls.Certificate // nil on a worker
	accepted *stdx509.CertPool
}

// serverConfig returns the TLS configuration of the secure API: mutual, with the current certificates. skew is the error of
// the node's clock for the check of client certificates.
func (c *keyring) serverConfig(skew func() time.Duration) (*tls.Config, error) {
	config, err := talostls.New(talostls.WithClientAuthType(talostls.Mutual))
	if err != nil {
		return nil, fmt.Errorf("prepare TLS of apid: %w", err)
	}

	config.VerifyPeerCertificate = verifyPurpose
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.current.Load().server, nil }
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := config.Clone()
		now.GetConfigForClient = nil
		now.ClientCAs = c.current.Load().accepted

		if wrong := skew(); wrong != 0 {
			now.Time = func() time.Time { return time.Now().Add(wrong) }
		}

		return now, nil
	}

	return config, nil
}

// verifyPurpose accepts certificates for client authentication only, as Talos does (internal/app/apid/main.go): a worker's
// server certificate must not open the API.
func verifyPurpose(_ [][]byte, chains [][]*stdx509.Certificate) error {
	if len(chains) == 0 {
		return errors.New("no verified chains")
	}

	for _, cert := range chains[0] {
		if !cert.IsCA && !slices.Equal(cert.ExtKeyUsage, []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}) {
			return fmt.Errorf("certificate %q is missing the client auth extended key usage", cert.Subject)
		}
	}

	return nil
}

// forwardConfig returns the TLS configuration for calls to other nodes; nil on a worker, which does not forward.
func (c *keyring) forwardConfig() *tls.Config {
	now := c.current.Load()
	if now.client == nil {
		return nil
	}

	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		RootCAs:              now.accepted,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.current.Load().client, nil },
	}
}

// subject is the node for which a certificate of the Talos API is issued (controllers/secrets/api_cert_sans.go).
type subject struct {
	ips   []net.IP
	names []string
	name  string
}

func subjectOf(cfg config.Config, n nodeNetwork) subject {
	var s subject

	for _, san := range cfg.Machine().Security().CertSANs() {
		if addr, err := netip.ParseAddr(san); err == nil {
			s.ips = append(s.ips, addr.AsSlice())
		} else {
			s.names = append(s.names, san)
		}
	}

	if cfg.Machine().Features().KubernetesTalosAPIAccess().Enabled() {
		s.names = append(s.names, constants.KubernetesTalosAPIServiceName,
			constants.KubernetesTalosAPIServiceName+"."+constants.KubernetesTalosAPIServiceNamespace)
	}

	for _, addr := range n.ips() {
		s.ips = append(s.ips, addr.AsSlice())
	}

	s.name = n.fqdn()
	if n.hostname != "" {
		s.names = append(s.names, n.hostname)
	}

	if n.domain != "" {
		s.names = append(s.names, n.fqdn())
	}

	return s
}

func (s subject) options() []x509.Option {
	return []x509.Option{x509.IPAddresses(s.ips), x509.DNSNames(s.names), x509.CommonName(s.name)}
}

// acceptedCAs returns the authorities for client certificates: the accepted ones and the issuing one
// (controllers/secrets/root.go).
func acceptedCAs(cfg config.Config) []byte {
	var pem [][]byte
	for _, ca := range cfg.Machine().Security().AcceptedCAs() {
		pem = append(pem, ca.Crt)
	}

	if issuing := cfg.Machine().Security().IssuingCA(); issuing != nil {
		pem = append(pem, issuing.Crt)
	}

	return bytes.Join(pem, nil)
}

func certPool(pem []byte) (*stdx509.CertPool, error) {
	pool := stdx509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no authority can be read from the machine configuration")
	}

	return pool, nil
}

// issueOwn issues a control plane's certificates. It signs them itself; the client certificate has the role that allows calls
// on behalf of others (controllers/secrets/api.go).
func issueOwn(cfg config.Config, s subject, now time.Time) (*issued, error) {
	if cfg.Machine().Security().IssuingCA() == nil {
		return nil, errors.New("the machine configuration of this control plane has no authority to sign with")
	}

	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(cfg.Machine().Security().IssuingCA())
	if err != nil {
		return nil, fmt.Errorf("read the authority of the Talos API: %w", err)
	}

	server, err := keyPair(ca, stdx509.ExtKeyUsageServerAuth, now, s.options()...)
	if err != nil {
		return nil, err
	}

	client, err := keyPair(ca, stdx509.ExtKeyUsageClientAuth, now, x509.CommonName(s.name), x509.Organization(string(role.Impersonator)))
	if err != nil {
		return nil, err
	}

	accepted, err := certPool(acceptedCAs(cfg))
	if err != nil {
		return nil, err
	}

	return &issued{server: server, client: &client, accepted: accepted}, nil
}

func keyPair(ca *x509.CertificateAuthority, usage stdx509.ExtKeyUsage, now time.Time, options ...x509.Option) (tls.Certificate, error) {
	pair, err := x509.NewKeyPair(ca, append(options,
		x509.NotBefore(now), x509.NotAfter(now.Add(x509.DefaultCertificateValidityDuration)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{usage}),
	)...)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign a certificate: %w", err)
	}

	return *pair.Certificate, nil
}

// maintenanceCertificate returns the server certificate of maintenance mode. Its authority is valid for the boot only
// (controllers/secrets/maintenance.go).
func maintenanceCertificate(hardware Hardware, now time.Time) (tls.Certificate, error) {
	ca, err := x509.NewSelfSignedCertificateAuthority(x509.NotBefore(now), x509.NotAfter(now.Add(x509.DefaultCertificateValidityDuration)))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the authority of the maintenance service: %w", err)
	}

	s := subject{name: constants.MaintenanceServiceCommonName, ips: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	for _, address := range hardware.addresses() {
		s.ips = append(s.ips, address.Addr().AsSlice())
	}

	if hardware.CloudInit.Hostname != "" {
		s.names = []string{hardware.CloudInit.Hostname}
	}

	return keyPair(ca, stdx509.ExtKeyUsageServerAuth, now, s.options()...)
}
