package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// certificateFile returns the path of the host's certificate and key. The host keeps its certificate over a restart, because
// clients may have pinned it.
func certificateFile(dir string) string { return filepath.Join(dir, "host-certificate.pem") }

// hostCertificate returns the certificate of the host in a folder. It generates one if there is none or it has expired.
func hostCertificate(dir string, d Description) (tls.Certificate, error) {
	text, err := os.ReadFile(certificateFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, err
	}
	if err == nil {
		certificate, err := tls.X509KeyPair(text, text)
		if err != nil {
			return certificate, fmt.Errorf("%s is damaged (%w): delete it, and the host gets another", certificateFile(dir), err)
		}
		if time.Now().Before(certificate.Leaf.NotAfter) {
			return certificate, nil
		}
	}
	certificate, err := selfSigned(d)
	if err != nil {
		return certificate, err
	}
	return certificate, writeCertificate(dir, certificate)
}

func writeCertificate(dir string, certificate tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	return atomicfile.Write(certificateFile(dir), text, 0o600)
}

// selfSigned returns a self-signed certificate, as a fresh Proxmox VE host has.
func selfSigned(d Description) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{Organization: []string{"PVE Cluster Node"}, CommonName: d.Host},
		DNSNames:     []string{d.Host, "localhost"},
		IPAddresses:  []net.IP{d.Proxmox.Addr().AsSlice()},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(2, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
