package talos_test

import (
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// kubernetesImages returns a patch for images of that version.
func kubernetesImages(version string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.MachineConfig.MachineKubelet.KubeletImage = "ghcr.io/siderolabs/kubelet:" + version
		c.ClusterConfig.APIServerConfig.ContainerImage = "registry.k8s.io/kube-apiserver:" + version
		c.ClusterConfig.ControllerManagerConfig.ContainerImage = "registry.k8s.io/kube-controller-manager:" + version
		c.ClusterConfig.SchedulerConfig.ContainerImage = "registry.k8s.io/kube-scheduler:" + version
	}
}

// TestANodeJudgesKubernetesByItsOwnRelease: not by that of this program's library.
func TestANodeJudgesKubernetesByItsOwnRelease(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")

	for i, test := range []struct{ talos, kubernetes, side string }{
		{"v1.12.11", "v1.35.4", ""},
		{"v1.12.11", "v1.36.2", "new"},
		{"v1.11.6", "v1.35.4", "new"},
		{"v1.13.9", "v1.36.2", ""},
		{"v1.13.9", "v1.37.0", "new"},
		{"v1.13.9", "v1.30.9", "old"},
		{"v1.14.1", "v1.37.0", ""},
		{"v1.14.1", "v1.31.9", "old"},
	} {
		hardware := l.hardware(101 + i)
		hardware.ISO = "local:iso/talos-" + test.talos + "-nocloud-amd64.iso"
		require.NoError(t, l.fleet.PowerOn(t.Context(), hardware))
		l.waitStage(hardware.VMID, talos.StageMaintenance)

		_, err := l.insecure(hardware.VMID).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
			Data: c.controlPlane(kubernetesImages(test.kubernetes)), DryRun: true,
		})
		if test.side == "" {
			require.NoError(t, err, test)
			continue
		}

		refusal := " image is not valid: version of Kubernetes " + test.kubernetes[1:] + " is too " + test.side + " to be used with Talos " + test.talos[1:] + "\n"
		require.Equal(t, "runtime configuration validation failed: 1 error occurred:\n\t* v1alpha1.Config: 4 errors occurred:\n"+
			"\t* kubelet"+refusal+"\t* kube-apiserver"+refusal+"\t* kube-controller-manager"+refusal+"\t* kube-scheduler"+refusal,
			strings.TrimRight(status.Convert(err).Message(), "\n")+"\n", test)
	}
}
