package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestASiteIsRefusedAsAWhole: no stack is touched if there is none, or if the files of one are wrong.
func TestASiteIsRefusedAsAWhole(t *testing.T) {
	root := project(t)
	for _, verb := range []string{"up", "preview", "status", "destroy"} {
		require.Equal(t, outcome{code: exitRefused, err: "this project has no stack: make one with `em-infra init`\n"}, em(t.Context(), "site", verb))
	}
	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	writeFile(t, filepath.Join(root, "Pulumi.next.yaml"), "config: {}\n")
	writeFile(t, filepath.Join(root, "Pulumi.other.yaml"), "config: {}\n")
	require.Equal(t, outcome{code: exitRefused, err: "next: its inventory is not valid: see `em-infra validate --stack next`\n" +
		"other: its inventory is not valid: see `em-infra validate --stack other`\n"}, em(t.Context(), "site", "up"))
}

// TestASiteStopsAtTheFirstStackThatIsRefused: the layers come in their order, and what comes after is not begun. A preview looks at all,
// unless it is interrupted.
func TestASiteStopsAtTheFirstStackThatIsRefused(t *testing.T) {
	root := project(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", "site"), 0o700))
	writeFile(t, filepath.Join(root, "stacks", "site", "hosts.yaml"), "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\nhosts: [{name: vmhost}]\n")
	for _, stack := range []string{"k3s-dev", "site"} {
		writeFile(t, filepath.Join(root, "Pulumi."+stack+".yaml"), "config: {}\n")
	}
	const passphrase = "the passphrase of the stack's secrets is not set: "

	stopped := em(t.Context(), "site", "up", "--yes")
	require.Equal(t, exitRefused, stopped.code, stopped.err)
	require.Equal(t, `site (hosts), 1 of 2

STACK    KIND      RESULT
site     hosts     refused
k3s-dev  platform  not begun
stopped at site: do what its message says, then run `+"`em-infra site up` again, which goes on from there\n", stopped.out)
	require.Contains(t, stopped.err, passphrase)

	choices := em(t.Context(), "site", "up", "--yes", "--seed", "x")
	require.Equal(t, exitRefused, choices.code)
	require.Equal(t, stopped.out, choices.out)
	require.Equal(t, "--time-scale, --pve and --seed are those of the emulated host: add --lab to rehearse, or leave them out\n", choices.err)

	all := em(t.Context(), "site", "preview")
	require.Equal(t, exitRefused, all.code, all.err)
	require.Contains(t, all.out, "site     hosts     refused\nk3s-dev  platform  refused\n")
	require.Contains(t, all.err, passphrase)

	asked := em(t.Context(), "site", "status")
	require.Equal(t, exitRefused, asked.code, asked.err)
	require.Contains(t, asked.out, "site     hosts     refused\nk3s-dev  platform  refused\n")
	require.Contains(t, em(t.Context(), "site", "status", "--help").out, ", 3 a stack is refused, ", "each exit code is in the help")

	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, verb := range []string{"preview", "status"} {
		require.Equal(t, "site (hosts), 1 of 2\n\nSTACK    KIND      RESULT\nsite     hosts     refused\nk3s-dev  platform  not begun\n"+
			"stopped at site: run `em-infra site "+verb+"` again, which begins with the first stack\n", em(interrupted, "site", verb).out)
	}

	down := em(t.Context(), "site", "destroy", "--yes")
	require.Equal(t, exitRefused, down.code)
	require.Contains(t, down.out, "k3s-dev (platform), 1 of 2\n")
	require.Contains(t, down.out, "\nk3s-dev  platform  refused\nsite     hosts     not begun\n")
}
