package kubernetes_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
)

// TestAKubeletJoinsWithATokenOfTheCluster: one with another token does not become a Node until the cluster has that token.
func TestAKubeletJoinsWithATokenOfTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s := newSite(t, ourSecrets)
	refusal := &awaitedLine{texts: []string{"node=node-111", "does not accept the token of its machine configuration"}}
	clusters := kubernetestest.OpenClusters(t, t.TempDir(), kubernetestest.Tools(t), refusal)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	first := s.node(101, machine.TypeControlPlane)
	clusters.NodeChanged(first)
	clusters.NodeChanged(s.node(111, machine.TypeWorker, func(c *v1alpha1.Config) { c.ClusterConfig.BootstrapToken = "abcdef.0123456789abcdef" }))
	clusters.NodeChanged(s.node(112, machine.TypeWorker))
	c := admin(t, first)
	c.waitReadiness("node-112", corev1.ConditionTrue)
	c.eventually("the other one is refused", func(context.Context) bool { return refusal.logged.Load() })
	_, err := c.CoreV1().Nodes().Get(t.Context(), "node-111", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	_, err = c.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.eventually("it joins", func(ctx context.Context) bool {
		_, err := c.CoreV1().Nodes().Get(ctx, "node-111", metav1.GetOptions{})
		return err == nil
	})
}

// awaitedLine is a log that notices a line that has all texts.
type awaitedLine struct {
	texts  []string
	logged atomic.Bool
}

func (l *awaitedLine) Write(line []byte) (int, error) {
	if !slices.ContainsFunc(l.texts, func(text string) bool { return !strings.Contains(string(line), text) }) {
		l.logged.Store(true)
	}
	return len(line), nil
}
