package kubernetesupgrade_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesupgrade"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/versions"
)

const firstControlPlane, firstWorker = talostest.First, 111

func TestMain(m *testing.M) { talostest.Main(m) }

// cluster is a cluster of emulated nodes with real Kubernetes processes.
type cluster struct {
	*talostest.Cluster
	t     *testing.T
	nodes []rolling.Node
}

// newCluster brings up a cluster with versions of Talos and Kubernetes, and ends it with the test. The patches are those of the control
// planes.
func newCluster(t *testing.T, release, kubernetes string, controlPlanes, workers int, faults talos.Faults, patches ...func(*v1alpha1.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, Cluster: talostest.NewCluster(t, release, kubernetes, talos.Config{Kubernetes: kubernetestest.NewClusters(t), Faults: faults})}
	for i := range controlPlanes {
		c.join(firstControlPlane+i, fmt.Sprintf("control-%d", i+1), machinetype.TypeControlPlane, patches...)
	}
	for i := range workers {
		c.join(firstWorker+i, fmt.Sprintf("worker-%d", i+1), machinetype.TypeWorker)
	}
	polltest.Succeeds(t, func() error {
		return nodeops.WaitUntilReady(t.Context(), c.Talosconfig(), nodeops.Awaited{Nodes: c.names()})
	})
	return c
}

func (c *cluster) names() []string {
	var names []string
	for _, node := range c.nodes {
		names = append(names, node.Name)
	}
	return names
}

func (c *cluster) join(vmid int, name string, kind machinetype.Type, patches ...func(*v1alpha1.Config)) {
	c.t.Helper()
	c.Join(vmid, name, kind, patches...)
	c.nodes = append(c.nodes, rolling.Node{Name: name, Address: c.Address(vmid), ControlPlane: kind.IsControlPlane()})
}

// patch applies a changed configuration without a reboot.
func (c *cluster) patch(vmid int, kind machinetype.Type, patches ...func(*v1alpha1.Config)) {
	c.t.Helper()
	require.NoError(c.t, nodeops.Ask(c.t.Context(), c.Talosconfig(), c.Address(vmid).String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{
			Data: c.Configuration(kind, patches...), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
		})
		return err
	}))
}

func (c *cluster) kubernetes() *kubernetes.Clientset {
	c.t.Helper()
	api, err := kubernetes.NewForConfig(c.administrator())
	require.NoError(c.t, err)
	return api
}

// administrator returns the settings of a client of the Kubernetes API.
func (c *cluster) administrator() *rest.Config {
	c.t.Helper()
	text, err := nodeops.Kubeconfig(c.t.Context(), c.Talosconfig(), c.Address(firstControlPlane).String())
	require.NoError(c.t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	require.NoError(c.t, err)
	return config
}

// upgrade returns the upgrade of the whole cluster.
func (c *cluster) upgrade(to string) kubernetesupgrade.Upgrade {
	c.t.Helper()
	version, err := versions.Parse(to)
	require.NoError(c.t, err)
	return kubernetesupgrade.Upgrade{
		Talosconfig: c.Talosconfig(), Nodes: c.nodes, To: version, Progress: c.t.Output(),
		Limits: kubernetesupgrade.Limits{Interval: 200 * time.Millisecond},
	}
}

// hasty returns the same, but it waits only shortly for Nodes, for one that never becomes Ready.
func (c *cluster) hasty(to string) kubernetesupgrade.Upgrade {
	c.t.Helper()
	upgrade := c.upgrade(to)
	upgrade.Limits.Nodes = patience
	return upgrade
}

// lines collects what an upgrade prints, and ends it after a number of lines.
type lines struct {
	printed bytes.Buffer
	after   int // 0: never
	end     context.CancelFunc
}

func (l *lines) Write(text []byte) (int, error) {
	l.printed.Write(text)
	if l.after > 0 && strings.Count(l.printed.String(), "\n") >= l.after {
		l.end()
	}
	return len(text), nil
}
