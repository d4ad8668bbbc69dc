package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestTheCAOfKubernetesIsReplaced goes through the steps of Talos' rotate-ca (talos v1.12.0, pkg/rotate/pki/kubernetes). The API server, its
// clients and the kubelets continue with the new CA, and the old one is refused at the end.
func TestTheCAOfKubernetesIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	former, err := ourSecrets()
	require.NoError(t, err)
	made, err := secrets.NewKubernetesCA(time.Now(), nil)
	require.NoError(t, err)
	latter := x509.NewCertificateAndKeyFromCertificateAuthority(made)
	s, dir := newSite(t, ourSecrets), t.TempDir()
	at := func(version string, issuing *x509.PEMEncodedCertificateAndKey, accepted ...*x509.PEMEncodedCertificateAndKey) talos.KubernetesNode {
		node := s.node(101, machine.TypeControlPlane, func(c *v1alpha1.Config) {
			c.ClusterConfig.ClusterCA = issuing
			for _, ca := range accepted {
				c.ClusterConfig.ClusterAcceptedCAs = append(c.ClusterConfig.ClusterAcceptedCAs, &x509.PEMEncodedCertificate{Crt: ca.Crt})
			}
		})
		node.StaticPods = versions(version)
		return node
	}
	clusters := kubernetestest.OpenClusters(t, dir, kubernetestest.Tools(t))
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	steps := []talos.KubernetesNode{at("1", former.Certs.K8s), at("2", former.Certs.K8s, latter), at("3", latter, former.Certs.K8s), at("4", latter)}
	for i, node := range steps {
		clusters.NodeChanged(node)
		c := admin(t, node, number(s.network, 11))
		c.eventually("step "+node.StaticPods.Config["kube-apiserver"], c.hasConfig("kube-apiserver-node-101", node.StaticPods.Config["kube-apiserver"]))
		c.eventually("the Node is Ready", func(ctx context.Context) bool { return c.readiness(ctx, "node-101") == corev1.ConditionTrue })
		if i > 0 {
			c.eventually("controllers work", func(ctx context.Context) bool {
				published, err := c.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
				return err == nil && published.Data["ca.crt"] == string(node.Config.Cluster().IssuingCA().Crt) // Talos gives it no other one
			})
		}
	}
	old := adminConfig(t, steps[0], number(s.network, 11))
	old.CAData = latter.Crt
	client, err := k8s.NewForConfig(old)
	require.NoError(t, err)
	_, err = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}
