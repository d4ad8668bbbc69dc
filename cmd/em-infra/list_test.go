package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStacksAreListed: those with a stack file, and one whose files are wrong with what to do.
func TestStacksAreListed(t *testing.T) {
	root := project(t)
	require.Equal(t, outcome{out: "no stack in this project: a stack has a file Pulumi.STACK.yaml\n"}, em(t.Context(), "list"))

	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", "home"), 0o700))
	writeFile(t, filepath.Join(root, "Pulumi.home.yaml"), "config:\n  em-infra:inventory: stacks/k3s-dev\n")
	listed := em(t.Context(), "list")
	require.Zero(t, listed.code, listed.err)
	require.Equal(t, `STACK    KIND      CLUSTER  NODES  HOSTS   PROXMOX VE           STATE
home     platform  lab      1+0    vmhost                       .state
k3s-dev  platform  lab      1+0    vmhost  https://vmhost:8006  .state
`, listed.out)

	writeFile(t, filepath.Join(root, "Pulumi.next.yaml"), "config: {}\n")
	broken := em(t.Context(), "list")
	require.Equal(t, exitRefused, broken.code)
	require.Contains(t, broken.out, "\nnext     unknown")
	require.Equal(t, "next: its inventory is not valid: see `em-infra validate --stack next`\n", broken.err)
	require.Contains(t, em(t.Context(), "list", "--output", "json").out, `"inventory": "stacks/next",`)

	t.Chdir(t.TempDir())
	require.Equal(t, exitRefused, em(t.Context(), "list").code, "there is no project")
}
