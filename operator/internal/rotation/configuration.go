package rotation

import (
	"bytes"
	"slices"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// Place is where a machine configuration has a CA and those that are accepted beside it.
type Place struct {
	issuing  func(*v1alpha1.Config) *(*x509.PEMEncodedCertificateAndKey)
	accepted func(*v1alpha1.Config) *[]*x509.PEMEncodedCertificate
}

// The places of the CAs that can be rotated (talos v1.12.4, pkg/rotate/pki).
var (
	TalosPlace = Place{
		issuing:  func(c *v1alpha1.Config) *(*x509.PEMEncodedCertificateAndKey) { return &c.MachineConfig.MachineCA },
		accepted: func(c *v1alpha1.Config) *[]*x509.PEMEncodedCertificate { return &c.MachineConfig.MachineAcceptedCAs },
	}
	KubernetesPlace = Place{
		issuing:  func(c *v1alpha1.Config) *(*x509.PEMEncodedCertificateAndKey) { return &c.ClusterConfig.ClusterCA },
		accepted: func(c *v1alpha1.Config) *[]*x509.PEMEncodedCertificate { return &c.ClusterConfig.ClusterAcceptedCAs },
	}
)

// Accept returns the change of a machine configuration with which a node accepts the new CA beside the old one.
func (p Place) Accept(ca Change) (func(*v1alpha1.Config), error) {
	_, latter, err := ca.pems()
	return func(c *v1alpha1.Config) { p.accept(c, latter.Crt) }, err
}

// Issue returns the change with which a node issues certificates with the new CA and accepts the old one. Only a control plane has the
// key of a CA.
func (p Place) Issue(ca Change) (func(*v1alpha1.Config), error) {
	former, latter, err := ca.pems()
	return func(c *v1alpha1.Config) {
		issuing := &x509.PEMEncodedCertificateAndKey{Crt: latter.Crt}
		if present := *p.issuing(c); present != nil && len(present.Key) > 0 {
			issuing.Key = latter.Key
		}
		*p.issuing(c) = issuing
		p.drop(c, latter.Crt)
		p.accept(c, former.Crt)
	}, err
}

// Drop returns the change with which a node does not accept the old CA any more.
func (p Place) Drop(ca Change) (func(*v1alpha1.Config), error) {
	former, _, err := ca.pems()
	return func(c *v1alpha1.Config) { p.drop(c, former.Crt) }, err
}

func (c Change) pems() (former, latter x509.PEMEncodedCertificateAndKey, err error) {
	old, err := c.Old.pem()
	if err != nil {
		return former, latter, err
	}
	young, err := c.New.pem()
	if err != nil {
		return former, latter, err
	}
	return *old, *young, nil
}

// accept adds a CA behind those that the configuration accepts already, for example by a patch of the inventory.
func (p Place) accept(c *v1alpha1.Config, crt []byte) {
	accepted := p.accepted(c)
	if !slices.ContainsFunc(*accepted, func(ca *x509.PEMEncodedCertificate) bool { return bytes.Equal(ca.Crt, crt) }) {
		*accepted = append(*accepted, &x509.PEMEncodedCertificate{Crt: crt})
	}
}

func (p Place) drop(c *v1alpha1.Config, crt []byte) {
	accepted := p.accepted(c)
	*accepted = slices.DeleteFunc(*accepted, func(ca *x509.PEMEncodedCertificate) bool { return bytes.Equal(ca.Crt, crt) })
	if len(*accepted) == 0 {
		*accepted = nil
	}
}
