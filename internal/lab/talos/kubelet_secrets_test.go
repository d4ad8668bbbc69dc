package talos_test

import (
	"testing"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestTheKubeletRestartsWithAnotherCAAndToken: with another CA that it accepts, and with another token to join with, but not with the same
// ones once more.
func TestTheKubeletRestartsWithAnotherCAAndToken(t *testing.T) {
	t.Parallel()

	kube := &pods{nodes: map[int]talos.KubernetesNode{}}
	l := newLab(t, func(c *talos.Config) { c.Kubernetes = kube })
	c := l.controlPlaneUp("k3s-dev")

	other, err := theirSecrets()
	require.NoError(t, err)

	accepts := func(cfg *v1alpha1.Config) {
		cfg.ClusterConfig.ClusterAcceptedCAs = []*x509.PEMEncodedCertificate{{Crt: other.Certs.K8s.Crt}}
	}
	token := func(cfg *v1alpha1.Config) {
		accepts(cfg)
		cfg.ClusterConfig.BootstrapToken = "abcdef.0123456789abcdef"
	}
	labelled := func(cfg *v1alpha1.Config) {
		token(cfg)
		label(cfg)
	}

	for starts, patch := range []func(*v1alpha1.Config){accepts, token} {
		c.patched(101, patch)
		l.eventually(func() bool { return kube.node(101).KubeletStarts == starts+2 && kube.node(101).Kubelet }, "the kubelet is not restarted")
	}

	c.patched(101, labelled)
	require.Equal(t, 3, kube.node(101).KubeletStarts)
}
