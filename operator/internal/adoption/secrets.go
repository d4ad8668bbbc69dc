package adoption

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Secrets are the machine secrets of a cluster, with a new certificate of its administrator.
type Secrets struct {
	bundle *secrets.Bundle
	admin  *x509.PEMEncodedCertificateAndKey
}

// ReadSecrets reads a bundle in the form of `talosctl gen secrets`. Its errors quote nothing of it.
func ReadSecrets(file string, now time.Time) (Secrets, error) {
	if _, err := os.Stat(file); err != nil {
		return Secrets{}, fmt.Errorf("the machine secrets cannot be read (%w): give the file that `talosctl gen secrets` has written", err)
	}
	bundle, err := secrets.LoadBundle(file)
	if err != nil || !isWhole(bundle) {
		return Secrets{}, fmt.Errorf("%s is no whole bundle of machine secrets: give the file that `talosctl gen secrets` has written, with the keys of all its authorities", file)
	}
	return issue(bundle, now)
}

// SecretsIn returns the machine secrets in the machine configuration of a control plane, which has all of them.
func SecretsIn(configuration []byte, now time.Time) (Secrets, error) {
	parsed, err := configloader.NewFromBytes(configuration)
	if err != nil {
		return Secrets{}, errors.New("its machine configuration cannot be read") // without the cause, which could quote it
	}
	return secretsOf(parsed, now)
}

func secretsOf(parsed config.Config, now time.Time) (Secrets, error) {
	if parsed.Machine() == nil || parsed.Cluster() == nil || !parsed.Machine().Type().IsControlPlane() {
		return Secrets{}, errors.New("its machine configuration is not that of a control plane")
	}
	bundle := secrets.NewBundleFromConfig(secrets.NewFixedClock(now), parsed)
	if !isWhole(bundle) {
		return Secrets{}, errors.New("its machine configuration lacks keys of the cluster")
	}
	return issue(bundle, now)
}

// isWhole reports whether a bundle has what a control plane needs. Talos' own check has further demands, such as the kind of a key,
// that clusters of earlier releases do not meet.
func isWhole(b *secrets.Bundle) bool {
	if b == nil || b.Certs == nil || b.Cluster == nil || b.Secrets == nil || b.TrustdInfo == nil {
		return false
	}
	for _, authority := range []*x509.PEMEncodedCertificateAndKey{b.Certs.OS, b.Certs.K8s, b.Certs.Etcd, b.Certs.K8sAggregator} {
		if authority == nil || len(authority.Crt) == 0 || len(authority.Key) == 0 {
			return false
		}
	}
	return b.Certs.K8sServiceAccount != nil && len(b.Certs.K8sServiceAccount.Key) > 0 &&
		b.Cluster.ID != "" && b.Cluster.Secret != "" && b.Secrets.BootstrapToken != "" && b.TrustdInfo.Token != "" &&
		b.Secrets.AESCBCEncryptionSecret+b.Secrets.SecretboxEncryptionSecret != ""
}

// issue signs a certificate of the administrator, as the provider does with new secrets.
func issue(bundle *secrets.Bundle, now time.Time) (Secrets, error) {
	admin, err := secrets.NewAdminCertificateAndKey(now, bundle.Certs.OS, role.MakeSet(role.Admin), constants.TalosAPIDefaultCertificateValidityDuration)
	if err != nil {
		return Secrets{}, errors.New("the authority of the Talos API in the machine secrets cannot sign: its key does not fit its certificate")
	}
	return Secrets{bundle: bundle, admin: admin}, nil
}

// Owner returns the owner that the machines of the cluster name in a stack.
func (s Secrets) Owner(stack string) ownership.Owner {
	return ownership.Owner{Stack: stack, Cluster: ownership.Short(s.bundle.Cluster.ID)}
}

// Talosconfig returns a talosconfig of the administrator, secret.
func (s Secrets) Talosconfig(cluster string, endpoints []string) ([]byte, error) {
	return clientconfig.NewConfig(cluster, endpoints, s.bundle.Certs.OS.Crt, s.admin).Bytes()
}

// Difference returns what differs between two bundles, in the words of a bundle; empty if they are those of one cluster.
func (s Secrets) Difference(other Secrets) []string {
	a, b := s.bundle, other.bundle
	var found []string
	for _, part := range []struct {
		name string
		same bool
	}{
		{"cluster.id", a.Cluster.ID == b.Cluster.ID},
		{"cluster.secret", a.Cluster.Secret == b.Cluster.Secret},
		{"certs.os", isSame(a.Certs.OS, b.Certs.OS)},
		{"certs.k8s", isSame(a.Certs.K8s, b.Certs.K8s)},
		{"certs.etcd", isSame(a.Certs.Etcd, b.Certs.Etcd)},
		{"certs.k8saggregator", isSame(a.Certs.K8sAggregator, b.Certs.K8sAggregator)},
		{"certs.k8sserviceaccount", bytes.Equal(a.Certs.K8sServiceAccount.Key, b.Certs.K8sServiceAccount.Key)},
		{"secrets", *a.Secrets == *b.Secrets},
		{"trustdinfo", *a.TrustdInfo == *b.TrustdInfo},
	} {
		if !part.same {
			found = append(found, part.name)
		}
	}
	return found
}

func isSame(a, b *x509.PEMEncodedCertificateAndKey) bool {
	return bytes.Equal(a.Crt, b.Crt) && bytes.Equal(a.Key, b.Key)
}

// properties returns the outputs of the provider's resource (terraform-provider-talos v0.10.1, pkg/talos/util.go,
// secretsBundleTomachineSecrets). The provider itself marks which of them are secret.
func (s Secrets) properties() resource.PropertyMap {
	b := s.bundle
	keys := map[string]any{"bootstrapToken": b.Secrets.BootstrapToken}
	for name, value := range map[string]string{
		"aescbcEncryptionSecret": b.Secrets.AESCBCEncryptionSecret, "secretboxEncryptionSecret": b.Secrets.SecretboxEncryptionSecret,
	} {
		if value != "" {
			keys[name] = value
		}
	}
	return resource.NewPropertyMapFromMap(map[string]any{
		"machineSecrets": map[string]any{
			"certs": map[string]any{
				"etcd": pair(b.Certs.Etcd), "k8s": pair(b.Certs.K8s), "k8sAggregator": pair(b.Certs.K8sAggregator), "os": pair(b.Certs.OS),
				"k8sServiceaccount": map[string]any{"key": encoded(b.Certs.K8sServiceAccount.Key)},
			},
			"cluster":    map[string]any{"id": b.Cluster.ID, "secret": b.Cluster.Secret},
			"secrets":    keys,
			"trustdinfo": map[string]any{"token": b.TrustdInfo.Token},
		},
		"clientConfiguration": map[string]any{
			"caCertificate": encoded(b.Certs.OS.Crt), "clientCertificate": encoded(s.admin.Crt), "clientKey": encoded(s.admin.Key),
		},
	})
}

func pair(authority *x509.PEMEncodedCertificateAndKey) map[string]any {
	return map[string]any{"cert": encoded(authority.Crt), "key": encoded(authority.Key)}
}

func encoded(pem []byte) string { return base64.StdEncoding.EncodeToString(pem) }
