package kubernetes_test

import (
	"context"
	"slices"
	"testing"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// sealedBy returns a patch for the keys of aescbc and secretbox.
func sealedBy(aescbc, secretbox string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterAESCBCEncryptionSecret, c.ClusterConfig.ClusterSecretboxEncryptionSecret = aescbc, secretbox
	}
}

// TestAControlPlaneHasItsOwnKeys: a static pod that is started again has the keys of its own node's configuration, while the others still
// have the former ones.
func TestAControlPlaneHasItsOwnKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	const former, next = "z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=", "bzBZLY7QWXgkaIlz5qs6NmSPYqPYHZmBBiUc8f6eTFM="
	account, err := x509.NewRSAKey()
	require.NoError(t, err)
	s, dir := newSite(t, ourSecrets), t.TempDir()
	at := func(vmid int, version string, patches ...func(*v1alpha1.Config)) talos.KubernetesNode {
		node := s.node(vmid, machine.TypeControlPlane, patches...)
		node.StaticPods = versions(version)
		return node
	}
	changed := []func(*v1alpha1.Config){sealedBy(former, next), func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterServiceAccount = &x509.PEMEncodedKey{Key: account.KeyPEM}
	}}
	clusters := kubernetestest.OpenClusters(t, dir, kubernetestest.Tools(t))
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	one := at(101, "1", sealedBy(former, ""))
	clusters.NodeChanged(one)
	clusters.NodeChanged(at(102, "1", sealedBy(former, "")))
	first, second := admin(t, one, number(s.network, 11)), admin(t, one, number(s.network, 12))
	first.eventually("the first control plane serves", first.hasConfig("kube-apiserver-node-101", "1"))
	second.eventually("the second does", second.hasConfig("kube-apiserver-node-102", "1"))
	first.writesSecret("before")
	token := second.token()
	require.Empty(t, first.refuses(token))

	clusters.NodeChanged(at(101, "2", changed...))
	second.eventually("the first has the new keys", second.hasConfig("kube-apiserver-node-101", "2"))
	first.writesSecret("after")
	require.NoError(t, first.readsSecret("before"), "it has both keys")
	require.NoError(t, second.readsSecret("before"))
	require.ErrorContains(t, second.readsSecret("after"), "no matching prefix found")
	require.Contains(t, first.refuses(token), "invalid bearer token")
	require.Empty(t, second.refuses(token))

	clusters.NodeChanged(at(102, "2", changed...))
	first.eventually("the second has them, too", first.hasConfig("kube-apiserver-node-102", "2"))
	require.NoError(t, second.readsSecret("after"))
	require.Contains(t, second.refuses(token), "invalid bearer token")
	second.eventually("one API server is left", func(context.Context) bool {
		return slices.Equal(slices.Compact(processesIn(t, dir)), processesIn(t, dir))
	})
}

// hasConfig reports whether a static pod runs with a version of its configuration.
func (c cluster) hasConfig(name, version string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		pod, err := c.CoreV1().Pods("kube-system").Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Annotations[constants.AnnotationStaticPodConfigVersion] == version && ready(pod)
	}
}

func (c cluster) writesSecret(name string) {
	c.t.Helper()
	_, err := c.CoreV1().Secrets("default").Create(c.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c cluster) readsSecret(name string) error {
	_, err := c.CoreV1().Secrets("default").Get(c.t.Context(), name, metav1.GetOptions{})
	return err
}

// token returns a token of a service account, as pods have them.
func (c cluster) token() string {
	c.t.Helper()
	var issued *authenticationv1.TokenRequest
	c.eventually("a token is issued", func(ctx context.Context) (made bool) {
		request, err := c.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		issued = request
		return err == nil
	})
	return issued.Status.Token
}

// refuses returns why an API server refuses a token; empty if it accepts it.
func (c cluster) refuses(token string) string {
	c.t.Helper()
	review, err := c.AuthenticationV1().TokenReviews().Create(c.t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return review.Status.Error
}
