package e2e_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// runsAdvice runs the kubectl commands of messages and pages, with KUBECONFIG set to the cluster's.
func (c *rehearsedCluster) runsAdvice() {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "advice.yaml"))
	require.NoError(c.t, err)
	var known []struct{ Text, Run, Fails string }
	require.NoError(c.t, yaml.Unmarshal(text, &known))
	file := filepath.Join(c.t.TempDir(), "advice.yaml")
	require.NoError(c.t, os.WriteFile(file, []byte(shop), 0o600))
	count := 0
	for _, advice := range known {
		command, isKubectl := strings.CutPrefix(advice.Run, "kubectl ")
		if !isKubectl {
			continue
		}
		count++
		output, err := c.ownKubectl(strings.Fields(strings.NewReplacer("NODE", "k3s-dev-worker-1", "FILE", file).Replace(command))...)
		if advice.Fails == "" {
			require.NoError(c.t, err, "%s: %s", advice.Text, output)
			continue
		}
		require.Error(c.t, err, "%s works on the lab now: say so in its item: %s", advice.Text, output)
		require.Contains(c.t, output, advice.Fails, advice.Text)
	}
	require.Greater(c.t, count, 20, "the list is read")
	c.mustKubectl("delete", "--timeout=3m", "--filename", file)
	c.mustKubectl("label", "namespace", "default", "pod-security.kubernetes.io/enforce-")
}
