package talos

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
)

// authority is the trustd of a control plane: it signs the server certificates of workers that have the cluster's token
// (internal/app/trustd). Talos serves it on port 50001; in a lab it is a function call.
type authority struct {
	issuing  *x509.PEMEncodedCertificateAndKey
	accepted []byte
	token    string
}

func authorityOf(cfg config.Config) *authority {
	return &authority{
		issuing:  cfg.Machine().Security().IssuingCA(),
		accepted: acceptedCAs(cfg),
		token:    cfg.Machine().Security().Token(),
	}
}

// errUnauthenticated is trustd's error for a wrong token (pkg/grpc/middleware/auth/basic).
var errUnauthenticated = errors.New("rpc error: code = Unknown desc = Unauthenticated")

// sign signs a certificate for server use only, and returns the authorities that the cluster accepts.
func (a *authority) sign(token string, request []byte, now time.Time) (certificate, accepted []byte, err error) {
	if subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) != 1 {
		return nil, nil, errUnauthenticated
	}

	signed, err := x509.NewCertificateFromCSRBytes(a.issuing.Crt, a.issuing.Key, request,
		x509.NotBefore(now), x509.NotAfter(now.Add(x509.DefaultCertificateValidityDuration)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}))
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate request: %w", err)
	}

	return signed.X509CertificatePEM, a.accepted, nil
}

// joinTrust starts this node's trustd.
func (s *system) joinTrust(a *authority) {
	s.mu.Lock()
	s.trusted = a
	s.mu.Unlock()

	s.fleet.trust.notify()
}

func (s *system) leaveTrust() { s.joinTrust(nil) }

func (s *system) trustd() *authority {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.trusted
}

// trustedAt returns the trustd at an address, nil for none.
func (f *Fleet) trustedAt(addr netip.Addr) *authority {
	running := f.systemAt(addr)
	if running == nil {
		return nil
	}

	return running.trustd()
}

// systemAt returns the system that listens on an address, nil for none.
func (f *Fleet) systemAt(addr netip.Addr) *system {
	for _, m := range f.all() {
		running := m.running()
		if running != nil && slices.ContainsFunc(running.hardware.addresses(), func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return running
		}
	}

	return nil
}

// issueRemote issues a worker's server certificate. It asks each known control plane until one signs, and again whenever
// another one appears.
func (s *system) issueRemote(ctx context.Context, cfg config.Config, who subject, now time.Time) (*issued, error) {
	request, identity, err := certificateRequest(cfg, who)
	if err != nil {
		return nil, err
	}

	for reported := ""; ; {
		trust := s.fleet.trust.wait()
		endpoints, discovered := s.controlPlanes(cfg)

		certificate, accepted, err := s.ask(cfg, endpoints, request.X509CertificateRequestPEM, now)
		if err == nil {
			return certificateFrom(certificate, identity.Key, accepted)
		}

		if reported != err.Error() {
			reported = err.Error()
			s.vm.note(StepCertificate, err, s.fleet.config.Now())
		}

		select {
		case <-trust:
		case <-discovered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask asks one control plane after the other. The error contains the answer of each.
func (s *system) ask(
	cfg config.Config, endpoints []netip.Addr, request []byte, now time.Time,
) (certificate, accepted []byte, err error) {
	problems := []error{errors.New("no control plane signs this worker's certificate")}

	for _, endpoint := range endpoints {
		trustd := s.fleet.trustedAt(endpoint)

		switch {
		case trustd == nil:
			err = errors.New("trustd does not answer")
		case !bytes.Contains(acceptedCAs(cfg), trustd.issuing.Crt):
			err = errors.New("x509: certificate signed by unknown authority")
		default:
			if certificate, accepted, err = trustd.sign(cfg.Machine().Security().Token(), request, now); err == nil {
				return certificate, accepted, nil
			}
		}

		problems = append(problems, fmt.Errorf("%s: %w", endpoint, err))
	}

	return nil, nil, errors.Join(problems...)
}

func certificateRequest(cfg config.Config, who subject) (*x509.CertificateSigningRequest, *x509.PEMEncodedCertificateAndKey, error) {
	// the last accepted authority determines the type of the key (controllers/secrets/api.go)
	security := cfg.Machine().Security()

	last := &x509.PEMEncodedCertificate{}
	if issuing := security.IssuingCA(); issuing != nil {
		last.Crt = issuing.Crt
	} else if accepted := security.AcceptedCAs(); len(accepted) > 0 {
		last = accepted[len(accepted)-1]
	}

	ca, err := last.GetCert()
	if err != nil {
		return nil, nil, fmt.Errorf("read the authority of the Talos API: %w", err)
	}

	request, identity, err := x509.NewCSRAndIdentityFromCA(ca, who.options()...)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate request: %w", err)
	}

	return request, identity, nil
}

func certificateFrom(certificate, key, accepted []byte) (*issued, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate that trustd signed: %w", err)
	}

	pool, err := certPool(accepted)
	if err != nil {
		return nil, err
	}

	return &issued{server: pair, accepted: pool}, nil
}
