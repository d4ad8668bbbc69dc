package workspace_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

func TestStacksBeside(t *testing.T) {
	t.Parallel()
	root := filepath.Join(project(t), "odd [name]*")
	for file, text := range map[string]string{
		"Pulumi.yaml":           "name: em-infra\nruntime: go\n",
		"Pulumi.home.yaml":      "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n",
		"Pulumi.next.yaml":      "config: {}\n",
		"Pulumi.far.yaml":       "config:\n  em-infra:inventory: elsewhere/far\n",
		"Pulumi.same.yaml":      "config:\n  em-infra:inventory: stacks/home\n",
		"Pulumi.damaged.yaml":   "config: [\n",
		"stacks/put-away/x":     "",
		"stacks/home/nodes.yml": "",
	} {
		write(t, filepath.Join(root, file), text)
	}
	w, err := workspace.Rehearsal(root, "home", "")
	require.NoError(t, err)
	others, err := w.Beside()
	require.NoError(t, err)
	require.Len(t, others, 1)
	require.Equal(t, "next", others[0].Stack)
	endpoint, err := w.RealEndpoint()
	require.NoError(t, err)
	require.Equal(t, "https://vmhost:8006", endpoint)
	endpoint, err = others[0].RealEndpoint()
	require.NoError(t, err)
	require.Empty(t, endpoint)
}
