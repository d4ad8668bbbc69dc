package talos_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	v1alpha1res "github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// patched applies a configuration without a reboot.
func (c *cluster) patched(vmid int, patch func(*v1alpha1.Config)) {
	c.lab.t.Helper()
	_, err := c.admin(vmid).ApplyConfiguration(c.lab.t.Context(), &machine.ApplyConfigurationRequest{
		Data: c.controlPlane(patch), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
	})
	require.NoError(c.lab.t, err)
}

// TestTheKubeletRestartsWithANewImage checks that another kubelet image stops and starts the kubelet, as its service shows, and
// that a label does not.
func TestTheKubeletRestartsWithANewImage(t *testing.T) {
	t.Parallel()

	kube := &pods{nodes: map[int]talos.KubernetesNode{}}
	l := newLab(t, func(c *talos.Config) { c.Kubernetes = kube })
	c := l.controlPlaneUp("k3s-dev")

	events := make(chan state.Event)
	service := resource.NewMetadata(v1alpha1res.NamespaceName, v1alpha1res.ServiceType, "kubelet", resource.VersionUndefined)
	require.NoError(t, c.admin(101).COSI.Watch(t.Context(), service, events))
	require.Equal(t, state.Created, (<-events).Type, "what runs before")

	c.patched(101, label)
	c.patched(101, func(cfg *v1alpha1.Config) {
		label(cfg)
		cfg.MachineConfig.MachineKubelet.KubeletImage = "registry.example.org/kubelet:v1.35.5"
	})

	require.Equal(t, state.Destroyed, (<-events).Type, "the label has not restarted it")
	for {
		event := <-events
		require.NotEqual(t, state.Destroyed, event.Type)
		if running := event.Resource.(*v1alpha1res.Service).TypedSpec(); running.Running && running.Healthy {
			break
		}
	}

	node := kube.node(101)
	require.Equal(t, "registry.example.org/kubelet:v1.35.5", node.KubeletImage)
	require.Equal(t, 2, node.KubeletStarts)

	spec, err := safe.StateGetByID[*k8s.KubeletSpec](t.Context(), c.admin(101).COSI, k8s.KubeletID)
	require.NoError(t, err)
	require.Equal(t, node.KubeletImage, spec.TypedSpec().Image)
}

// TestStaticPodsAndManifestsFollowTheConfiguration checks what an upgrade of Kubernetes reads from a control plane.
func TestStaticPodsAndManifestsFollowTheConfiguration(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *talos.Config) { c.Kubernetes = &pods{nodes: map[int]talos.KubernetesNode{}} })
	c := l.controlPlaneUp("k3s-dev")
	c.patched(101, func(cfg *v1alpha1.Config) {
		cfg.ClusterConfig.APIServerConfig.ContainerImage = "registry.k8s.io/kube-apiserver:v1.35.5"
		cfg.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{"feature-gates": "MemoryManager=true", "enable-admission-plugins": "AlwaysPullImages"}
		cfg.ClusterConfig.ProxyConfig.ContainerImage = "registry.k8s.io/kube-proxy:v1.35.5"
	})

	pod, err := safe.StateGetByID[*k8s.StaticPod](t.Context(), c.admin(101).COSI, k8s.APIServerID)
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{
		"name": "kube-apiserver", "image": "registry.k8s.io/kube-apiserver:v1.35.5",
		"command": []any{"/usr/local/bin/kube-apiserver", "--enable-admission-plugins=NodeRestriction,AlwaysPullImages", "--feature-gates=MemoryManager=true"},
	}}, pod.TypedSpec().Pod["spec"].(map[string]any)["containers"])

	manifests, err := safe.StateListAll[*k8s.Manifest](t.Context(), c.admin(101).COSI)
	require.NoError(t, err)
	require.Equal(t, 1, manifests.Len())
	require.Equal(t, []k8s.SingleManifest{{Object: map[string]any{"kind": "DaemonSet", "image": "registry.k8s.io/kube-proxy:v1.35.5"}}}, manifests.Get(0).TypedSpec().Items)
}

// TestAnImageIsPulledOnce checks that a second pull takes no time, and that a namespace is needed.
func TestAnImageIsPulledOnce(t *testing.T) {
	t.Parallel()

	pulls := &countedPace{counted: talos.AssumedDurations().Image}
	l := newLab(t, func(c *talos.Config) { c.Pace = pulls })
	c := l.controlPlaneUp("k3s-dev")

	for range 2 {
		require.NoError(t, c.admin(101).ImagePull(t.Context(), common.ContainerdNamespace_NS_CRI, "registry.k8s.io/kube-scheduler:v1.35.5"))
	}
	require.EqualValues(t, 1, pulls.count.Load())

	err := c.admin(101).ImagePull(t.Context(), common.ContainerdNamespace_NS_UNKNOWN, "registry.k8s.io/kube-scheduler:v1.35.5")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// countedPace skips all delays and counts those of one duration.
type countedPace struct {
	counted time.Duration
	count   atomic.Int64
}

// Sleep implements talos.Pacer.
func (p *countedPace) Sleep(ctx context.Context, d time.Duration) error {
	if d == p.counted {
		p.count.Add(1)
	}

	return ctx.Err()
}
