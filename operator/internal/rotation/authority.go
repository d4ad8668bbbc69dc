package rotation

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
)

// Pair is a certificate and its key, each as PEM in base64, as the state has them. Secret.
type Pair struct {
	// Certificate may be several, one after the other.
	Certificate string
	// Key is that of the first one.
	Key string
}

func (p Pair) pem() (*x509.PEMEncodedCertificateAndKey, error) {
	certificate, noCertificate := base64.StdEncoding.DecodeString(p.Certificate)
	key, noKey := base64.StdEncoding.DecodeString(p.Key)
	if noCertificate != nil || noKey != nil {
		return nil, errNotReplaceable
	}
	return &x509.PEMEncodedCertificateAndKey{Crt: certificate, Key: key}, nil
}

// PairOf returns the pair of a certificate and a key in PEM.
func PairOf(certificate, key []byte) Pair {
	return Pair{Certificate: base64.StdEncoding.EncodeToString(certificate), Key: base64.StdEncoding.EncodeToString(key)}
}

func pairOf(pem *x509.PEMEncodedCertificateAndKey) Pair { return PairOf(pem.Crt, pem.Key) }

// NewAuthority is a CA as Talos makes it, from a time on: that of the Talos API or that of Kubernetes.
type NewAuthority func(from time.Time) (*x509.CertificateAuthority, error)

// The CAs that can be rotated. Both are valid for ten years.
var (
	TalosCA      NewAuthority = secrets.NewTalosCA
	KubernetesCA NewAuthority = func(from time.Time) (*x509.CertificateAuthority, error) { return secrets.NewKubernetesCA(from, nil) }
)

// Authority returns the replacements for a new CA and for a client's certificate, which the new CA signs: the client has the same name,
// groups and lifetime as before. [Replacements.Authority] and [Replacements.Client] find them.
func Authority(issue NewAuthority, present, client Pair, from time.Time) (Replacements, error) {
	ca, err := issue(from)
	if err != nil {
		return nil, err
	}
	former, err := client.pem()
	if err != nil {
		return nil, err
	}
	certificate, err := former.GetCert()
	if err != nil {
		return nil, errNotReplaceable
	}
	signed, err := x509.NewKeyPair(ca, x509.CommonName(certificate.Subject.CommonName), x509.Organization(certificate.Subject.Organization...),
		x509.NotBefore(from), x509.NotAfter(from.Add(certificate.NotAfter.Sub(certificate.NotBefore))),
		x509.KeyUsage(certificate.KeyUsage), x509.ExtKeyUsage(certificate.ExtKeyUsage))
	if err != nil {
		return nil, err
	}
	authority, administrator := pairOf(x509.NewCertificateAndKeyFromCertificateAuthority(ca)), pairOf(x509.NewCertificateAndKeyFromKeyPair(signed))
	replacements := Replacements{
		{Old: present.Certificate, New: authority.Certificate}, {Old: present.Key, New: authority.Key},
		{Old: client.Certificate, New: administrator.Certificate}, {Old: client.Key, New: administrator.Key},
	}
	return replacements, replacements.check()
}

// Change is a certificate with its key, before and after.
type Change struct {
	// Old is the pair from before, New the one that replaces it.
	Old, New Pair
}

// Authority returns the CA in the replacements of [Authority]. The error is [ErrNote].
func (r Replacements) Authority() (Change, error) { return r.pair(0) }

// Client returns the client's certificate in the replacements of [Authority]. The error is [ErrNote].
func (r Replacements) Client() (Change, error) { return r.pair(2) }

func (r Replacements) pair(at int) (Change, error) {
	if len(r) < at+2 {
		return Change{}, ErrNote
	}
	return Change{Old: Pair{r[at].Old, r[at+1].Old}, New: Pair{r[at].New, r[at+1].New}}, nil
}

// Undo returns a text with the pair from before instead of the new one.
func (c Change) Undo(text string) string {
	return strings.NewReplacer(c.New.Certificate, c.Old.Certificate, c.New.Key, c.Old.Key).Replace(text)
}

// Both returns the certificates from before and after together: a client that trusts them accepts either side of a rotation.
func (c Change) Both() (string, error) {
	former, err := c.Old.pem()
	if err != nil {
		return "", err
	}
	latter, err := c.New.pem()
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(append(former.Crt, latter.Crt...)), nil
}
