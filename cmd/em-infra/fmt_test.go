package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInventoriesAreFormatted: all of the project, or one; --check writes nothing, and a file that is no YAML stops all.
func TestInventoriesAreFormatted(t *testing.T) {
	root := project(t)
	require.Equal(t, refusal("this project has no stack: name a folder with --inventory"), em(t.Context(), "fmt"))
	nodes := filepath.Join(root, "stacks/k3s-dev/nodes.yaml")
	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config: {}\n")
	writeFile(t, filepath.Join(root, "Pulumi.same.yaml"), "config:\n  em-infra:inventory: stacks/k3s-dev\n")
	canonical := em(t.Context(), "fmt")
	require.Zero(t, canonical.code, canonical.err)
	require.Equal(t, outcome{}, em(t.Context(), "fmt", "--check"), "it is canonical now")
	was, err := os.ReadFile(nodes)
	require.NoError(t, err)

	writeFile(t, nodes, string(was)+"\n\n# spare   \n")
	for _, args := range [][]string{{"fmt", "--check"}, {"fmt", "k3s-dev", "--check"}, {"fmt", "--inventory", "stacks/k3s-dev", "--check"}} {
		require.Equal(t, outcome{out: "stacks/k3s-dev/nodes.yaml\n", code: exitChanges}, em(t.Context(), args...))
	}
	require.Equal(t, outcome{out: "stacks/k3s-dev/nodes.yaml\n"}, em(t.Context(), "fmt"))
	text, err := os.ReadFile(nodes)
	require.NoError(t, err)
	require.Equal(t, string(was)+"\n# spare\n", string(text))
	require.Equal(t, outcome{}, em(t.Context(), "fmt"))

	writeFile(t, nodes, "nodes: [\n")
	broken := em(t.Context(), "fmt", "k3s-dev")
	require.Equal(t, exitRefused, broken.code)
	require.Regexp(t, "^stacks/k3s-dev/nodes.yaml: is no YAML \\(yaml: .*\\): correct it, `em-infra validate --inventory stacks/k3s-dev` names the line\n$", broken.err)
	require.Equal(t, refusal("--stack and --inventory: which of the two is meant? give one"), em(t.Context(), "fmt", "k3s-dev", "--inventory", "x"))
}

func TestTheSamplesAreFormatted(t *testing.T) {
	t.Chdir("../..")
	require.Equal(t, outcome{}, em(t.Context(), "fmt", "--check"))
}
