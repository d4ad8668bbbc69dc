package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAStackOfHostsBesideACluster: commands that work for every kind read its file, and those of a cluster refuse it in a sentence.
func TestAStackOfHostsBesideACluster(t *testing.T) {
	root := project(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", "site"), 0o700))
	file := filepath.Join(root, "stacks", "site", "hosts.yaml")
	writeFile(t, file, "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname:   site\nhosts: [{name: vmhost}]\n")
	writeFile(t, filepath.Join(root, "Pulumi.site.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")

	require.Equal(t, outcome{out: "stacks/site is sound: 1 host (vmhost)\n"}, em(t.Context(), "validate", "--stack", "site"))
	require.Contains(t, em(t.Context(), "validate", "site", "--show").out, "# hosts.yaml\n")
	require.Contains(t, em(t.Context(), "validate", "site", "--show", "--output", "json").out, `"hosts": {`)
	require.Contains(t, em(t.Context(), "list").out, "site   hosts")
	require.Equal(t, "stacks/site/hosts.yaml\n", em(t.Context(), "fmt", "site").out)

	const refusal = "stacks/site holds hosts.yaml, which describes hosts of Proxmox VE, and this command works on a cluster: name the stack of a cluster (cluster.yaml and nodes.yaml)\n"
	for _, words := range [][]string{{"graph", "site"}, {"etcd", "snapshot", "site"}} {
		refused := em(t.Context(), words...)
		require.Equal(t, exitRefused, refused.code, words)
		require.Equal(t, refusal, refused.err, words)
	}
}
