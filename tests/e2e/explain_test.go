package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EWhatIsInTheWayAndWhatItMeans: errors are explained, and errors that can be found before a run are refused before
// anything is changed.
func TestE2EWhatIsInTheWayAndWhatItMeans(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-explained")

	r.mustRun(0, "lab", "start")
	require.Contains(t, r.mustRun(0, "preflight", "--lab"), " checks: ")
	require.Contains(t, r.mustRun(0, "role", "--lab"), "# token em-infra@pve!rehearsal has all of it on /\n")

	r.mustRun(0, "lab", "fault", "set", "storage-full")
	failed := r.mustRun(1, "up", "--lab", "--yes")
	require.Regexp(t, `(?m)^ preflight  \d+ checks: \d+ ok +\d+\.\d s$`, failed)
	require.Regexp(t, `\nfailed (at|in provision:) k3s-dev-template-vmhost-vm\n  Proxmox:       zfs error: cannot create 'tank/vm-9000-disk-\d': out of space\n`+
		`  meaning        the pool has no room for tank/vm-9000-disk-\d\n  do             free space`, failed)
	require.Equal(t, 1, strings.Count(failed, "  Proxmox:  "), "a failure is told once, although the provider says it in its log and as its answer: %s", failed)
	require.Regexp(t, `\nup failed.* What was done is in the state, so it is safe to run again: `, failed)

	seen := len(r.calls())
	cluster := r.read(filepath.Join(r.inventory, "cluster.yaml"))
	r.writeInventory("cluster.yaml", strings.Replace(cluster, "extensions: []", "extensions: [siderolabs/no-such]", 1))
	refused := r.mustRun(3, "up", "--lab", "--yes")
	require.Regexp(t, `\n FAIL  the Image Factory at http://\S+ has no extension siderolabs/no-such for Talos v1\.12\.4\n       → correct talos\.schematic\.extensions or talos\.version\n`, refused)
	require.Contains(t, refused, "refused: the host does not meet the requirements yet; ")
	require.Contains(t, r.mustRun(3, "preflight", "--lab", "--output", "json"), `"failures": 1`)
	foreseen := r.mustRun(3, "preview", "--lab")
	require.Contains(t, foreseen, " has no extension siderolabs/no-such for Talos v1.12.4\n", "a preview refuses what up refuses")
	require.Contains(t, foreseen, "refused: the host does not meet the requirements yet; ")
	require.Empty(t, writes(r.calls()[seen:]), "nothing was touched")
}
