package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EEmbedding runs the program of docs/embedding.md, as its reader would, on a rehearsal's stack.
func TestE2EEmbedding(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-embedding")
	r.mustRun(0, "lab", "start")
	r.shellOfLabEnv("pulumi preview") // on a stack that is not up yet

	output := r.embed()
	require.Contains(t, output, "to do: map[create:")
	require.Contains(t, output, "k3s-dev is up at https://127.")
	r.mustRun(0, "preview", "--lab")
	r.shellOfLabEnv(`pulumi preview --expect-no-changes
em-infra lab status --stack "$PULUMI_STACK"
pulumi config set --secret em-infra:proxmoxToken "$(pulumi config get em-infra:proxmoxToken)"
EM_INFRA_TALOSCONFIG="$(pulumi stack output talosconfig --show-secrets)" em-infra node wait --address "$(pulumi stack output talosControlPlaneEndpoints --json | tr -d '[]" \n')"
pulumi cancel --yes`)

	r.embed("-destroy")
	require.Empty(t, r.hostFiles().VMs)
}

// embed runs the example as a rehearsal, with an em-infra on PATH.
func (r *rehearsal) embed(args ...string) string {
	r.t.Helper()
	path, err := workshop.Tool()
	require.NoError(r.t, err)
	args = append([]string{"run", "-trimpath", "./docs/examples/embedding", "-stack", r.stack, "-inventory", r.inventory, "-lab"}, args...)
	program := exec.Command("go", args...)
	program.Dir = r.root
	program.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	output, err := program.CombinedOutput()
	require.NoError(r.t, err, "%s", output)
	return string(output)
}
