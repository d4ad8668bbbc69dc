package kubernetes_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// images are the releases of a control plane's static pods.
type images struct{ server, manager, scheduler string }

// release is one release of all static pods.
func release(version string) images { return images{version, version, version} }

// asks returns a patch for static pods of these releases.
func (i images) asks(c *v1alpha1.Config) {
	c.ClusterConfig.APIServerConfig.ContainerImage = "registry.k8s.io/kube-apiserver:" + i.server
	c.ClusterConfig.ControllerManagerConfig.ContainerImage = "registry.k8s.io/kube-controller-manager:" + i.manager
	c.ClusterConfig.SchedulerConfig.ContainerImage = "registry.k8s.io/kube-scheduler:" + i.scheduler
}

func TestLineup(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	one := kubernetes.Tools{ControlPlanes: []kubernetes.ControlPlane{{Version: "v1.35.4", Path: "old"}}}
	two := kubernetes.Tools{ControlPlanes: append(one.ControlPlanes, kubernetes.ControlPlane{Version: "v1.36.2", Path: "new"})}
	all := func(server, rest string) []string {
		return []string{"kube-apiserver " + server, "kube-controller-manager " + rest, "kube-scheduler " + rest}
	}
	for name, test := range map[string]struct {
		tools    kubernetes.Tools
		nodes    []images
		crashing map[int]bool
		want     []string
	}{
		"all in the release that every lab has": {two, []images{release("v1.35.4"), release("v1.35.9")}, nil, all("v1.35.4 node-101", "v1.35.4 node-101")},
		"another one was not built":             {one, []images{release("v1.36.2")}, nil, all("v1.35.4 node-101", "v1.35.4 node-101")},
		"an older one was not built":            {two, []images{release("v1.34.1")}, nil, all("v1.35.4 node-101", "v1.35.4 node-101")},
		"a newer one was not built":             {two, []images{release("v1.37.0")}, nil, all("v1.36.2 node-101", "v1.36.2 node-101")},
		"a tag that is no version":              {two, []images{release("latest")}, nil, all("v1.36.2 node-101", "v1.36.2 node-101")},
		"an image by its digest": {
			two, []images{release("v1.36.2@sha256:0123456789012345678901234567890123456789012345678901234567890123")}, nil,
			all("v1.36.2 node-101", "v1.36.2 node-101"),
		},
		"an upgrade has begun": {
			two, []images{{"v1.36.2", "v1.35.4", "v1.35.4"}, release("v1.35.4")}, nil,
			[]string{"kube-apiserver v1.35.4 node-102", "kube-apiserver v1.36.2 node-101", "kube-controller-manager v1.35.4 node-101", "kube-scheduler v1.35.4 node-101"},
		},
		"its last controller manager leads": {
			two, []images{{"v1.36.2", "v1.36.2", "v1.35.4"}, {"v1.36.2", "v1.35.4", "v1.35.4"}}, nil,
			[]string{"kube-apiserver v1.36.2 node-101", "kube-controller-manager v1.35.4 node-102", "kube-scheduler v1.35.4 node-101"},
		},
		"an upgrade has ended": {two, []images{release("v1.36.2"), release("v1.36.2")}, nil, all("v1.36.2 node-101", "v1.36.2 node-101")},
		"the API server of one does not start": {
			two, []images{release("v1.36.2"), release("v1.35.4")}, map[int]bool{101: true}, all("v1.35.4 node-102", "v1.35.4 node-102"),
		},
		"none starts": {two, []images{release("v1.36.2")}, map[int]bool{101: true}, all("v1.36.2 node-101", "v1.36.2 node-101")},
	} {
		var nodes []talos.KubernetesNode
		for i, of := range test.nodes {
			nodes = append(nodes, s.node(101+i, machine.TypeControlPlane, of.asks))
		}
		require.Equal(t, test.want, kubernetes.Lineup(test.tools, test.crashing, nodes...), name)
	}
}

func TestLineupOfDisabledComponents(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	tools := kubernetes.Tools{ControlPlanes: []kubernetes.ControlPlane{{Version: "v1.35.4", Path: "old"}}}
	disabled := true
	node := s.node(101, machine.TypeControlPlane, func(c *v1alpha1.Config) {
		c.MachineConfig.MachineControlPlane = &v1alpha1.MachineControlPlaneConfig{
			MachineControllerManager: &v1alpha1.MachineControllerManagerConfig{MachineControllerManagerDisabled: &disabled},
			MachineScheduler:         &v1alpha1.MachineSchedulerConfig{MachineSchedulerDisabled: &disabled},
		}
	})
	require.Equal(t, []string{"kube-apiserver v1.35.4 node-101"}, kubernetes.Lineup(tools, nil, node))
}

func TestNoControlPlaneToRun(t *testing.T) {
	t.Parallel()
	_, err := kubernetes.New(kubernetes.Config{Dir: t.TempDir()})
	require.EqualError(t, err, "no control plane to run")
}
