package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EVersionsThatCannotComeNext writes versions that cannot follow those that run. Each is refused with what to do, by preview and
// by up, and nothing is touched.
func TestE2EVersionsThatCannotComeNext(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	cluster := r.read(filepath.Join(r.inventory, "cluster.yaml"))
	seen := len(r.calls())
	for _, test := range []struct{ name, old, new, old2, new2, refusal string }{
		{
			name: "a minor release of Talos is skipped", old: "version: v1.12.4", new: "version: v1.14.1",
			refusal: "refused: say --allow-version-skip to go on, or go talos.version v1.12.11 → talos.version v1.13.9 → talos.version v1.14.1, with an up after each",
		},
		{
			name: "the latest patch release is left out", old: "version: v1.12.4", new: "version: v1.13.9",
			refusal: "refused: say --allow-version-skip to go on, or go talos.version v1.12.11 → talos.version v1.13.9, with an up after each",
		},
		{
			name: "Talos is taken back", old: "version: v1.12.4", new: "version: v1.12.3",
			refusal: "refused: set talos.version to v1.12.4 or later",
		},
		{
			name: "Kubernetes is taken back", old: "version: v1.35.4", new: "version: v1.34.1",
			refusal: "refused: set kubernetes.version to v1.35.4 or later",
		},
		{
			name: "Kubernetes is too new for the Talos that runs", old: "version: v1.12.4", new: "version: v1.13.9", old2: "version: v1.35.4", new2: "version: v1.36.3",
			refusal: "refused: go talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3, with an up after each",
		},
		{
			name: "the factory has no such release", old: "version: v1.12.4", new: "version: v1.12.99",
			refusal: "has no Talos v1.12.99",
		},
		{
			name: "the release has no such extension", old: "extensions: []", new: "extensions: [siderolabs/intel-npu]",
			refusal: "has no extension siderolabs/intel-npu for Talos v1.12.4",
		},
	} {
		r.edit("cluster.yaml", test.old, test.new)
		if test.old2 != "" {
			r.edit("cluster.yaml", test.old2, test.new2)
		}
		for _, command := range [][]string{{"preview", "--lab"}, {"up", "--lab", "--yes"}} {
			require.Contains(t, r.mustRun(3, command...), test.refusal, test.name)
		}
		r.writeInventory("cluster.yaml", cluster)
	}
	require.Empty(t, writes(r.calls()[seen:]), "nothing was touched")

	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.13.9")
	output := r.mustRun(2, "preview", "--lab", "--allow-version-skip")
	require.Regexp(t, `UPGRADE  k3s-dev-worker-1 +Talos v1\.12\.4 → v1\.13\.9 \(drain, reboot, about 3 min\)`, output)
	require.NotContains(t, output, "k3s-dev-worker-1 runs Talos", "it is said once")
	require.Contains(t, output, "from Talos v1.13 on, clients of v1.12 cannot read EtcdConfigs")
}
