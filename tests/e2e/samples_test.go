package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EThreeHostsThatShareTheirStorages is the life of stacks/k8s-prod: a control plane on each of three hosts, cloned from one template, and
// protected from its birth on.
func TestE2EThreeHostsThatShareTheirStorages(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-k8s-prod")
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		r.writeInventory(name, r.read(filepath.Join(r.root, "stacks", "k8s-prod", name)))
	}
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, output, "k8s-prod is up")
	r.nodesAreReady("k8s-prod-control-1", "k8s-prod-control-2", "k8s-prod-control-3", "k8s-prod-worker-1", "k8s-prod-worker-2")
	require.Contains(t, r.mustRun(0, "kubeconfig", "--lab"), filepath.Join(".lab", r.stack, "kubeconfig"))
	r.kubeconfigHasContext("k8s-prod")

	seen := len(r.calls())
	require.Contains(t, r.mustRun(0, "preview", "--lab"), "nothing would change\n")
	require.Contains(t, r.mustRun(3, "destroy", "--lab", "--yes"), "e2e-k8s-prod is protected (")
	require.Empty(t, writes(r.calls()[seen:]))
	r.protect("true", "false")
	r.mustRun(0, "up", "--lab", "--yes")
	r.mustRun(0, "destroy", "--lab", "--yes")
}
