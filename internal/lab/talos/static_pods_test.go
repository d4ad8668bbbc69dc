package talos_test

import (
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestStaticPodsAreRenderedAnewOnlyForWhatConcernsThem checks the versions of the static pods' inputs. They must not change
// without a change of the pod, because a client would wait forever for a pod with new versions.
func TestStaticPodsAreRenderedAnewOnlyForWhatConcernsThem(t *testing.T) {
	t.Parallel()

	kube := &pods{nodes: map[int]talos.KubernetesNode{}}
	l := newLab(t, func(c *talos.Config) { c.Kubernetes = kube })
	c := l.controlPlaneUp("k3s-dev")

	argument := func(c *v1alpha1.Config) {
		c.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{"v": "4"}
	}
	policy := func(c *v1alpha1.Config) {
		argument(c)
		c.ClusterConfig.APIServerConfig.AuditPolicyConfig = v1alpha1.Unstructured{Object: map[string]any{"kind": "Policy"}}
	}
	name := func(c *v1alpha1.Config) {
		policy(c)
		c.ClusterConfig.APIServerConfig.CertSANs = append(c.ClusterConfig.APIServerConfig.CertSANs, "api.example.org")
	}

	token := func(c *v1alpha1.Config) {
		name(c)
		c.ClusterConfig.BootstrapToken = "abcdef.0123456789abcdef"
	}
	key := func(c *v1alpha1.Config) {
		token(c)
		c.ClusterConfig.ClusterAESCBCEncryptionSecret = "z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM="
	}

	for _, step := range []struct {
		what                                 string
		patch                                func(*v1alpha1.Config)
		apiServer, scheduler, files, secrets string
	}{
		{"a label", label, "1", "1", "1111", "1"},
		{"an argument of the API server", argument, "2", "1", "1111", "1"},
		{"the audit policy", policy, "2", "1", "1211", "1"},
		{"a name in its certificate", name, "2", "1", "1211", "2"},
		{"nothing any more", name, "2", "1", "1211", "2"},
		{"the token of joining kubelets", token, "2", "1", "1211", "3"},
		{"a key for Secrets", key, "2", "1", "1211", "4"},
	} {
		_, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
			Data: c.controlPlane(step.patch), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
		})
		require.NoError(t, err, step.what)

		api, err := safe.StateGetByID[*k8s.APIServerConfig](t.Context(), c.admin(101).COSI, k8s.APIServerConfigID)
		require.NoError(t, err, step.what)
		require.Equal(t, step.apiServer, api.Metadata().Version().String(), step.what)

		scheduler, err := safe.StateGetByID[*k8s.SchedulerConfig](t.Context(), c.admin(101).COSI, k8s.SchedulerConfigID)
		require.NoError(t, err, step.what)
		require.Equal(t, step.scheduler, scheduler.Metadata().Version().String(), step.what)

		files, err := safe.StateGetByID[*k8s.ConfigStatus](t.Context(), c.admin(101).COSI, k8s.ConfigStatusStaticPodID)
		require.NoError(t, err, step.what)
		require.Equal(t, step.files, files.TypedSpec().Version, step.what)

		secrets, err := safe.StateGetByID[*k8s.SecretsStatus](t.Context(), c.admin(101).COSI, k8s.StaticPodSecretsStaticPodID)
		require.NoError(t, err, step.what)
		require.Equal(t, step.secrets, secrets.TypedSpec().Version, step.what)

		require.Equal(t, talos.StaticPodVersions{
			Config:  map[string]string{"kube-apiserver": step.apiServer, "kube-controller-manager": "1", "kube-scheduler": step.scheduler},
			Files:   step.files,
			Secrets: step.secrets,
		}, kube.node(101).StaticPods, step.what)
	}
}
