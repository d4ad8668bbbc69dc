package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EChartsOfTheProject installs a chart of an inventory in the project's folder, as most inventories are: its path in the state is that
// in the project, the same on every machine, for em-infra and for a plain pulumi.
func TestE2EChartsOfTheProject(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-charts")
	r.inventory = filepath.Join(r.root, ".lab", "inventory-of-e2e-charts")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(r.inventory)) })
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "flux2"), os.DirFS(filepath.Join(r.root, "tests", "charts", "flux-like"))))
	r.writeTestdata()
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  flux: {chart: {path: flux2}}\n")

	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, "./.lab/inventory-of-e2e-charts/flux2", r.chartOf("k3s-dev-addons-flux2"))
	r.mustRun(0, "preview", "--lab")
	r.shellOfLabEnv("pulumi preview --expect-no-changes")
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// chartOf returns the chart of a release in the state.
func (r *rehearsal) chartOf(release string) any {
	r.t.Helper()
	for _, resource := range r.state().Resources {
		if resource.URN.Name() == release {
			return resource.Inputs["chart"]
		}
	}
	return nil
}
