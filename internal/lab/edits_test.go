package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
)

// A change of the inventory is reported once; an invalid inventory is reported when it is valid again.
func TestEditsOfTheInventory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	described := lab.Edits(t, &inventory.Inventory{Dir: dir})
	require.Nil(t, described(), "there are no files")
	write("cluster.yaml", strings.Replace(clusterYAML, "{vmid: 9000}", "{vmid: 9000, perHost: {vmhost2: 9001}}", 1))
	write("nodes.yaml", nodesYAML)
	require.Len(t, described(), 1)
	require.Nil(t, described(), "nothing was written since")

	write("nodes.yaml", nodesYAML+"  - {name: half")
	require.Nil(t, described())
	write("nodes.yaml", nodesYAML+"  - {name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.217.22, host: vmhost2}\n")
	hosts := described()
	require.Len(t, hosts, 2)
	require.Equal(t, "vmhost2", hosts[1].Name)
}
