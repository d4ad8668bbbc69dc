package status_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/status"
)

// madeAt is when the certificates of the tests begin.
var madeAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// certificateUntil returns a certificate for the test as PEM text.
func certificateUntil(t *testing.T, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: madeAt, NotAfter: end}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})
}

func talosconfigWith(certificate []byte) []byte {
	return fmt.Appendf(nil, "context: k3s-dev\ncontexts:\n  k3s-dev:\n    crt: %s\n", base64.StdEncoding.EncodeToString(certificate))
}

func kubeconfigWith(certificate []byte) []byte {
	return fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {user: u}}]\nusers:\n- name: u\n  user: {client-certificate-data: %s}\n",
		base64.StdEncoding.EncodeToString(certificate))
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	talos, kubernetes := today.AddDate(0, 0, 12), today.AddDate(1, 0, 0)
	certificates, err := status.Certificates(talosconfigWith(certificateUntil(t, talos)), kubeconfigWith(certificateUntil(t, kubernetes)))
	require.NoError(t, err)
	require.Equal(t, []status.Certificate{{Name: "talosconfig", Begins: madeAt, Ends: talos}, {Name: "kubeconfig", Begins: madeAt, Ends: kubernetes}}, certificates)
}

func TestDaysLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		left time.Duration
		days int
		due  bool
	}{
		{365 * 24 * time.Hour, 365, false},
		{30*24*time.Hour + time.Hour, 30, false},
		{30*24*time.Hour - time.Hour, 29, true},
		{time.Hour, 0, true},
		{-time.Hour, -1, true},
		{-25 * time.Hour, -2, true},
	} {
		certificate := status.Certificate{Ends: today.Add(test.left)}
		require.Equal(t, test.days, certificate.DaysLeft(today), test.left)
		require.Equal(t, test.due, certificate.IsDue(today), test.left)
	}
}

func TestCertificatesQuoteNothing(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	_, err := status.Certificates([]byte("context: "+secret), []byte("users: "+secret))
	require.EqualError(t, err, "the stack's output talosconfig holds no client certificate: run `em-infra up` to have it written anew\n"+
		"the stack's output kubeconfig holds no client certificate: run `em-infra up` to have it written anew")
}
