package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnEmptyFolder: without a clone the tool writes a project, checks it, and says what it needs for more.
func TestAnEmptyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("EM_INFRA_CACHE", t.TempDir())
	written := em(t.Context(), "example", "cluster")
	require.Equal(t, outcome{out: "written: cluster\nnext: change the addresses and names in cluster/stacks/k3s-dev, then em-infra validate --stack k3s-dev\n"}, written)
	again := em(t.Context(), "example", "cluster")
	require.Equal(t, exitRefused, again.code)
	require.True(t, strings.HasPrefix(again.err, "cluster/.gitignore, cluster/.state/.gitkeep, cluster/Pulumi.k3s-dev.yaml, "), again.err)
	require.True(t, strings.HasSuffix(again.err, "cluster/stacks/site-systems/systems.yaml exist, and are not overwritten: name an empty folder, as in `em-infra example cluster`\n"), again.err)

	t.Chdir("cluster")
	require.DirExists(t, ".state")
	valid := em(t.Context(), "validate", "--stack", "k3s-dev")
	require.Equal(t, exitOK, valid.code, "%s", valid.err)
	require.Equal(t, exitOK, em(t.Context(), "explain", "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout").code)
	require.Equal(t, exitOK, em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "cluster.svg").code)
	listed := em(t.Context(), "tools", "list")
	require.Equal(t, exitOK, listed.code, "%s", listed.err)
	require.Contains(t, listed.out, "proxmoxve")
	rehearsed := em(t.Context(), "up", "--stack", "k3s-dev", "--lab", "--yes")
	require.Equal(t, "rehearsals need controlplane, which is not published anywhere, and there is no clone of em-infra here to build it from: "+
		"run rehearsals in a clone, or once `em-infra tools install --lab` there, which keeps it for all folders\n", rehearsed.err)
}
