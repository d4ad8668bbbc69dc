// Package machinesecrets reads the machine secrets of a cluster from its state, and writes them as `talosctl gen secrets` does. Who has
// them can make every certificate and every machine configuration of the cluster. Pure.
package machinesecrets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Bundle is the machine secrets of one cluster, all of them secret.
type Bundle struct{ bundle *secrets.Bundle }

// ErrIncomplete means that something of a bundle is missing or no certificate or key. It wraps no cause, which could quote it.
var ErrIncomplete = errors.New("the machine secrets are not complete")

// FromState returns the bundle in the property machineSecrets of the provider's resource, in clear text (terraform-provider-talos
// v0.8.0, talos_machine_secrets_resource.go): certificates and keys are PEM in base64.
func FromState(properties map[string]any) (Bundle, error) {
	text := func(path string) string { return propertymap.Text(properties, path) }
	pem := func(path string) []byte {
		decoded, err := base64.StdEncoding.DecodeString(text(path))
		if err != nil {
			return nil // reported as incomplete
		}
		return decoded
	}
	pair := func(path string) *x509.PEMEncodedCertificateAndKey {
		return &x509.PEMEncodedCertificateAndKey{Crt: pem(path + ".cert"), Key: pem(path + ".key")}
	}
	b := Bundle{&secrets.Bundle{
		Cluster: &secrets.Cluster{ID: text("cluster.id"), Secret: text("cluster.secret")},
		Secrets: &secrets.Secrets{
			BootstrapToken:            text("secrets.bootstrapToken"),
			AESCBCEncryptionSecret:    text("secrets.aescbcEncryptionSecret"),
			SecretboxEncryptionSecret: text("secrets.secretboxEncryptionSecret"),
		},
		TrustdInfo: &secrets.TrustdInfo{Token: text("trustdinfo.token")},
		Certs: &secrets.Certs{
			Etcd: pair("certs.etcd"), K8s: pair("certs.k8s"), K8sAggregator: pair("certs.k8sAggregator"), OS: pair("certs.os"),
			K8sServiceAccount: &x509.PEMEncodedKey{Key: pem("certs.k8sServiceaccount.key")},
		},
	}}
	return b, b.check()
}

// Parse reads the text of a bundle.
func Parse(text []byte) (Bundle, error) {
	b := Bundle{new(secrets.Bundle)}
	if err := yaml.Unmarshal(text, b.bundle); err != nil {
		return Bundle{}, ErrIncomplete
	}
	return b, b.check()
}

// check is Talos' own, whose errors may quote what they found.
func (b Bundle) check() error {
	if err := b.bundle.Validate(); err != nil {
		return ErrIncomplete
	}
	return nil
}

// Text returns the bundle as YAML.
func (b Bundle) Text() ([]byte, error) { return yaml.Marshal(b.bundle) }

// Fingerprint returns the SHA-256 of the whole bundle in hexadecimal: another one means that a secret was changed.
func (b Bundle) Fingerprint() (string, error) {
	text, err := b.Text()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// CA returns the SHA-256 of the certificate of the Talos API's CA in hexadecimal. `openssl x509 -fingerprint -sha256` prints the same.
func (b Bundle) CA() (string, error) {
	certificate, err := b.bundle.Certs.OS.GetCert()
	if err != nil {
		return "", ErrIncomplete
	}
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:]), nil
}

// Authority is a CA of a cluster.
type Authority struct {
	// Name is Talos, Kubernetes, etcd or aggregator.
	Name string
	// Valid is how long it is valid.
	Valid Lifetime
}

// Authorities returns the CAs of the cluster.
func (b Bundle) Authorities() ([]Authority, error) {
	certs := b.bundle.Certs
	var found []Authority
	for _, one := range []struct {
		name string
		pair *x509.PEMEncodedCertificateAndKey
	}{{"Talos", certs.OS}, {"Kubernetes", certs.K8s}, {"etcd", certs.Etcd}, {"aggregator", certs.K8sAggregator}} {
		certificate, err := one.pair.GetCert()
		if err != nil {
			return nil, ErrIncomplete
		}
		found = append(found, Authority{Name: one.name, Valid: Lifetime{From: certificate.NotBefore, Until: certificate.NotAfter}})
	}
	return found, nil
}
