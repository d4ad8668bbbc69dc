package e2e_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/stacks"
)

// TestE2EAddressesGatewaysEndpoints changes the endpoint of a cluster, the routes of its nodes, and the identity of a worker;
// changed facts of birth are refused by a plain engine, too.
func TestE2EAddressesGatewaysEndpoints(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	r.keepsItsBirth()
	r.endpointAndGatewayMove()
	r.workerMoves()
	r.workerIsRenamed()
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// keepsItsBirth checks that a plain engine refuses another contract and other subnets, in a preview and in an update.
func (r *rehearsal) keepsItsBirth() {
	r.t.Helper()
	seen := len(r.calls())
	for _, edit := range [][3]string{
		{"contract: v1.12", "contract: v1.11", "contract v1.12 → v1.11 cannot change, since the cluster was born with it"},
		{"podSubnets: [10.244.0.0/16]", "podSubnets: [10.200.0.0/16]", "podSubnets 10.244.0.0/16 → 10.200.0.0/16 cannot change"},
	} {
		r.edit("cluster.yaml", edit[0], edit[1])
		stack := r.plainEngine()
		_, err := stack.Preview(r.t.Context(), optpreview.ProgressStreams(io.Discard), optpreview.ErrorProgressStreams(io.Discard))
		require.ErrorContains(r.t, err, edit[2])
		_, err = stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard), optup.ErrorProgressStreams(io.Discard))
		require.ErrorContains(r.t, err, edit[2])
		require.Contains(r.t, r.mustRun(3, "preview", "--lab"), edit[2])
		r.edit("cluster.yaml", edit[1], edit[0])
	}
	require.Empty(r.t, writes(r.calls()[seen:]), "nothing was touched")
	r.mustRun(0, "preview", "--lab")
}

// endpointAndGatewayMove changes the virtual address and the default route in one run: kubeconfig and talosconfig follow.
func (r *rehearsal) endpointAndGatewayMove() {
	r.t.Helper()
	before := r.server()
	r.edit("cluster.yaml", "endpoint: {vip: 192.168.20.10", "endpoint: {vip: 192.168.20.9")
	r.edit("cluster.yaml", "gateway: 192.168.20.1\n", "gateway: 192.168.20.254\n")
	require.Contains(r.t, r.mustRun(2, "preview", "--lab"), "gateway ")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, strings.Replace(before, ".10:6443", ".9:6443", 1), r.server(), "the kubeconfig that up writes")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	require.Empty(r.t, r.status(0).Lacks(), "every node uses the gateway of the inventory")
	r.mustRun(0, "preview", "--lab")
}

// server returns the server in the kubeconfig of the rehearsal.
func (r *rehearsal) server() string {
	r.t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	return config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server
}

// workerMoves changes the worker's address and VMID: one replacement, drained and removed first.
func (r *rehearsal) workerMoves() {
	r.t.Helper()
	r.edit("nodes.yaml", "address: 192.168.20.21", "address: 192.168.20.22")
	r.edit("nodes.yaml", "vmid: 102", "vmid: 112")
	preview := r.mustRun(2, "preview", "--lab")
	require.Regexp(r.t, ` REPLACE  k3s-dev-worker-1  vmid 102 → 112; address 127\.\d+\.\d+\.21 → 127\.\d+\.\d+\.22; the VM is deleted and created again\n`, preview)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, []string{"k3s-dev-control-1", "k3s-dev-worker-1", "talos-v1.12.4-base"}, r.placement()["vmhost"])
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab")
}

// workerIsRenamed: a plain engine would create it beside the former one, and refuses; em-infra replaces it.
func (r *rehearsal) workerIsRenamed() {
	r.t.Helper()
	r.edit("nodes.yaml", "name: k3s-dev-worker-1", "name: k3s-dev-blue-1")
	seen := len(r.calls())
	stack := r.plainEngineWith(stacks.Options{})
	_, err := stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard), optup.ErrorProgressStreams(io.Discard))
	require.ErrorContains(r.t, err, "k3s-dev-blue-1 has the VMID 112 of k3s-dev-worker-1, and would be made while that one still stands: run `em-infra up`")
	require.Empty(r.t, writes(r.calls()[seen:]), "nothing was touched")

	require.Contains(r.t, r.mustRun(2, "preview", "--lab"), " REPLACE  k3s-dev-blue-1  name k3s-dev-worker-1 → k3s-dev-blue-1; the VM is deleted and created again\n")
	require.Regexp(r.t, `k3s-dev-blue-1-vm +name +k3s-dev-blue-1 +k3s-dev-worker-1\n`, r.mustRun(2, "drift", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, []string{"k3s-dev-blue-1", "k3s-dev-control-1", "talos-v1.12.4-base"}, r.placement()["vmhost"])
	r.nodesAreReady("k3s-dev-blue-1", "k3s-dev-control-1")
	_, err = r.kubernetes().CoreV1().Nodes().Get(r.t.Context(), "k3s-dev-worker-1", metav1.GetOptions{})
	require.True(r.t, errors.IsNotFound(err), "the former name is no Node any more")
	r.mustRun(0, "preview", "--lab")
}
