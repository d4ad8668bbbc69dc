package s3test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/repositorytest"
)

// Server is a real S3 server: versitygw, on a folder, over HTTPS.
type Server struct {
	// URL is that of the empty bucket states.
	URL string
	// Folder holds its objects as files.
	Folder string
	// Env are the variables with its key and its authority.
	Env []string
}

// StartVersitygw builds tests/versitygw, which takes minutes once, and runs it until the test ends.
func StartVersitygw(t *testing.T) Server {
	t.Helper()
	program := filepath.Join(t.TempDir(), "versitygw")
	module, err := repositorytest.Path("tests/versitygw")
	require.NoError(t, err)
	build := exec.Command("go", "build", "-trimpath", "-o", program, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir = module
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)

	address := loopbacktest.Refused(t) // the server takes no open socket
	root, access, secret := t.TempDir(), rand.Text(), rand.Text()
	require.NoError(t, os.Mkdir(filepath.Join(root, "states"), 0o700))
	cert, key := certificate(t, address)
	server := exec.Command(program, "--port", address, "--cert", cert, "--key", key, "--region", "home", "--quiet", "posix", "--sidecar", t.TempDir(), root)
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+access, "ROOT_SECRET_ACCESS_KEY="+secret)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, server.Process.Kill())
		require.Error(t, server.Wait(), "it was killed")
	})
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		return err == nil && connection.Close() == nil
	}, time.Minute, 10*time.Millisecond)
	return Server{
		URL: "s3://states?region=home&use_path_style=true&endpoint=https://" + address, Folder: filepath.Join(root, "states"),
		Env: []string{"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_CA_BUNDLE=" + cert},
	}
}

// certificate writes a certificate of an authority of its own for an address, and its key.
func certificate(t *testing.T, address string) (cert, key string) {
	t.Helper()
	host, _, err := net.SplitHostPort(address)
	require.NoError(t, err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	sealed, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: sealed}), 0o600))
	return cert, key
}
