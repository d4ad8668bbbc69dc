package provider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// controlPlaneVariable is the environment variable with the path of the lab's control plane, which the tool chain builds. The tests in
// tests/modules of the root module get the control plane and set the variable.
const controlPlaneVariable = "EM_INFRA_TEST_CONTROLPLANE"

// controlPlane is a Kubernetes API with its controllers, without nodes. All tests share one. Each test has its own namespaces.
type controlPlane struct {
	dir        string
	kubeconfig string
	client     *kubernetes.Clientset
	stop       context.CancelFunc
	processes  sync.WaitGroup
}

var shared = sync.OnceValues(func() (*controlPlane, error) { return startControlPlane(os.Getenv(controlPlaneVariable)) })

// sharedControlPlane returns the control plane. The first test that calls it starts it.
func sharedControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	if os.Getenv(controlPlaneVariable) == "" {
		t.Skipf("%s names no control plane: run go test ./tests/modules in the root module", controlPlaneVariable)
	}
	plane, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return plane
}

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(controlPlaneVariable) != "" {
		if plane, err := shared(); err == nil {
			plane.end()
		}
	}
	os.Exit(code)
}

func startControlPlane(tool string) (*controlPlane, error) {
	dir, err := os.MkdirTemp("", "standin-kubernetes-")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	plane := &controlPlane{dir: dir, stop: stop}
	if err := plane.start(ctx, tool); err != nil {
		plane.end()
		return nil, err
	}
	return plane, nil
}

func (p *controlPlane) end() {
	p.stop()
	p.processes.Wait()
	_ = os.RemoveAll(p.dir) // a temporary folder
}

func (p *controlPlane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *controlPlane) start(ctx context.Context, tool string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := p.writeSecrets(ports[2]); err != nil {
		return err
	}
	p.run(ctx, tool, "etcd", "--data-dir", p.path("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", "--log-level", "error")
	p.run(ctx, tool, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(ports[2]), "--tls-cert-file", p.path("server.crt"), "--tls-private-key-file", p.path("server.key"),
		"--client-ca-file", p.path("ca.crt"), "--authorization-mode", "RBAC", "--endpoint-reconciler-type", "none",
		"--service-account-issuer", "https://test", "--service-account-key-file", p.path("server.key"),
		"--service-account-signing-key-file", p.path("server.key"), "--service-cluster-ip-range", "10.96.0.0/16")
	if err := p.untilReady(ctx); err != nil {
		return err
	}
	p.run(ctx, tool, "kube-controller-manager", "--kubeconfig", p.path("kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--service-account-private-key-file", p.path("server.key"), "--root-ca-file", p.path("ca.crt"))
	return nil
}

// run starts a component. The component ends when this program ends, even if the program is killed.
func (p *controlPlane) run(ctx context.Context, tool string, arguments ...string) {
	p.processes.Go(func() {
		runtime.LockOSThread() // the component gets the signal when the thread that started it ends (prctl(2))
		defer runtime.UnlockOSThread()
		log, err := os.Create(p.path(arguments[0] + ".log"))
		if err != nil {
			return
		}
		defer log.Close()
		command := exec.CommandContext(ctx, tool, arguments...)
		command.Dir, command.Stdout, command.Stderr = p.dir, log, log
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		_ = command.Run() // tests fail without the component, and its log has the reason
	})
}

func (p *controlPlane) untilReady(ctx context.Context) error {
	text, err := os.ReadFile(p.path("kubeconfig"))
	if err != nil {
		return err
	}
	p.kubeconfig = string(text)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return err
	}
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if p.client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
	}
	log, err := os.ReadFile(p.path("kube-apiserver.log"))
	return errors.Join(fmt.Errorf("the API server does not become ready: %s", log), err)
}

// writeSecrets writes an authority, the certificates of a server and an administrator, and the administrator's kubeconfig.
func (p *controlPlane) writeSecrets(port int) error {
	authority, err := newCertificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		return err
	}
	server, err := newCertificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority)
	if err != nil {
		return err
	}
	admin, err := newCertificate(&x509.Certificate{
		Subject:  pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return err
	}
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{
		Server: fmt.Sprintf("https://127.0.0.1:%d", port), CertificateAuthorityData: authority.text,
	}
	config.AuthInfos["admin"] = &api.AuthInfo{ClientCertificateData: admin.text, ClientKeyData: admin.keyText}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "admin"}
	config.CurrentContext = "test"
	return errors.Join(
		os.WriteFile(p.path("ca.crt"), authority.text, 0o600),
		os.WriteFile(p.path("server.crt"), server.text, 0o600),
		os.WriteFile(p.path("server.key"), server.keyText, 0o600),
		clientcmd.WriteToFile(*config, p.path("kubeconfig")),
	)
}

// certificate is a certificate with its key, parsed and as PEM.
type certificate struct {
	parsed        *x509.Certificate
	key           *ecdsa.PrivateKey
	text, keyText []byte
}

// newCertificate returns a certificate that the authority signs, or a self-signed one if there is no authority.
func newCertificate(template *x509.Certificate, authority *certificate) (*certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if authority == nil {
		authority = &certificate{parsed: template, key: key}
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, template, authority.parsed, key.Public(), authority.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &certificate{
		parsed: parsed, key: key,
		text:    pemOf(raw),
		keyText: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: rawKey}),
	}, nil
}

// freePorts returns free ports of the loopback interface.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // after the loop, so that no port is returned twice
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}
