package kubernetesupgrade_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestANodeThatHasNoNode covers a node whose Node was deleted. It runs the old version, so it is no machine that joins later, and the upgrade must
// not leave it behind.
func TestANodeThatHasNoNode(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	c := newCluster(t, "v1.13.9", "1.35.4", 1, 1, nil)
	for _, test := range []struct {
		name string
		vmid int
	}{{"control-1", firstControlPlane}, {"worker-1", firstWorker}} {
		require.NoError(t, c.kubernetes().CoreV1().Nodes().Delete(t.Context(), test.name, metav1.DeleteOptions{}))
		output := &lines{}
		upgrade := c.upgrade("v1.35.5")
		upgrade.Progress, upgrade.Limits.Nodes = output, time.Second
		require.EqualError(t, upgrade.Run(t.Context()), fmt.Sprintf("Kubernetes stays as it is: %[1]s runs a kubelet and is no Node of the cluster, so it would be left behind: "+
			"restart its kubelet with `talosctl -n %[2]s service kubelet restart`, which creates the Node again, then run up again", test.name, c.Address(test.vmid)))
		require.Equal(t, "waits for the Nodes of "+test.name+" (1s at most)\n", output.printed.String())
		c.restartKubelet(test.vmid, test.name)
	}
	c.upgradesOnlyTheControlPlane()
	require.NoError(t, c.kubernetes().CoreV1().Nodes().Delete(t.Context(), "control-1", metav1.DeleteOptions{}))
	require.EqualError(t, c.hasty("v1.35.5").Run(t.Context()), fmt.Sprintf("Kubernetes stays as it is: no control plane of the inventory is a Node of this cluster: "+
		"restart the kubelet of control-1 with `talosctl -n %s service kubelet restart`, which creates its Node again, then run up again", c.Address(firstControlPlane)))

	c.restartKubelet(firstControlPlane, "control-1")
	require.NoError(t, c.upgrade("v1.35.5").Run(t.Context()))
	for _, name := range c.names() {
		node, err := c.kubernetes().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "v1.35.5", node.Status.NodeInfo.KubeletVersion, name)
	}
}

// upgradesOnlyTheControlPlane starts an upgrade that ends before the kubelet of the worker is upgraded.
func (c *cluster) upgradesOnlyTheControlPlane() {
	c.t.Helper()
	ctx, end := context.WithCancel(c.t.Context())
	defer end()
	upgrade := c.upgrade("v1.35.5")
	upgrade.Progress = &trigger{also: c.t.Output(), text: "kubelet of worker-1: v1.35.4 → v1.35.5\n", then: end}
	require.ErrorContains(c.t, upgrade.Run(ctx), context.Canceled.Error())
}

// restartKubelet does what the message says, and waits for the Node.
func (c *cluster) restartKubelet(vmid int, name string) {
	c.t.Helper()
	require.NoError(c.t, nodeops.Ask(c.t.Context(), c.Talosconfig(), c.Address(vmid).String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ServiceRestart(ctx, "kubelet")
		return err
	}))
	polltest.Succeeds(c.t, func() error {
		_, err := c.kubernetes().CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		return err
	})
}
