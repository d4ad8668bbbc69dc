package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
)

// kubectlTool is tests/kubectl, built once.
var kubectlTool = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workshop.Dir, "kubectl")
	if output, err := exec.Command("go", "build", "-C", "../kubectl", "-trimpath", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kubectl: %w\n%s", err, output)
	}
	return path, nil
})

// kubectl runs a stock kubectl with the stack's kubeconfig, and without the user's environment.
func (c *rehearsedCluster) kubectl(args ...string) (output string, err error) {
	c.t.Helper()
	path, err := kubectlTool()
	require.NoError(c.t, err)
	command := exec.CommandContext(c.t.Context(), path, append([]string{"--kubeconfig=" + c.kubeconfig}, args...)...)
	command.Env = append(os.Environ(), "HOME="+c.t.TempDir())
	text, err := command.CombinedOutput()
	return string(text), err
}

// ownKubectl is kubectl with a copy of the kubeconfig in the environment, which the command may change.
func (c *rehearsedCluster) ownKubectl(args ...string) (output string, err error) {
	c.t.Helper()
	path, err := kubectlTool()
	require.NoError(c.t, err)
	home := c.t.TempDir()
	config, err := os.ReadFile(c.kubeconfig)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(home, "config"), config, 0o600))
	command := exec.CommandContext(c.t.Context(), path, args...)
	command.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+filepath.Join(home, "config"))
	text, err := command.CombinedOutput()
	return string(text), err
}

func (c *rehearsedCluster) mustKubectl(args ...string) string {
	c.t.Helper()
	output, err := c.kubectl(args...)
	require.NoError(c.t, err, "kubectl %s: %s", strings.Join(args, " "), output)
	return output
}

const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "example.org/shop:1"}]}
`

// answersKubectl: kubectl lists the nodes, applies a file, lists its Pods, changes it, and deletes it.
func (c *rehearsedCluster) answersKubectl() {
	c.t.Helper()
	nodes := strings.Split(strings.TrimSpace(c.mustKubectl("get", "nodes", "--no-headers")), "\n")
	require.Len(c.t, nodes, 3)
	for _, node := range nodes {
		require.Equal(c.t, "Ready", strings.Fields(node)[1], node)
	}

	file := filepath.Join(c.t.TempDir(), "shop.yaml")
	write := func(text string) { require.NoError(c.t, os.WriteFile(file, []byte(text), 0o600)) }
	pods := func() string { return c.mustKubectl("get", "pods", "--selector=app=shop", "--no-headers") }
	settled := func() { c.mustKubectl("rollout", "status", "deployment/shop", "--timeout=3m") }
	write(shop)
	created := c.mustKubectl("apply", "--filename", file)
	require.Contains(c.t, created, "deployment.apps/shop created\n")
	require.Contains(c.t, created, `Warning: would violate PodSecurity "restricted:latest"`, "Talos has the API server warn")
	settled()
	require.Equal(c.t, 2, strings.Count(pods(), " Running "), pods())
	require.Contains(c.t, c.mustKubectl("apply", "--filename", file), "deployment.apps/shop unchanged\n")
	write(strings.Replace(shop, "replicas: 2", "replicas: 3", 1))
	require.Contains(c.t, c.mustKubectl("apply", "--filename", file), "deployment.apps/shop configured\n")
	settled()
	require.Equal(c.t, 3, strings.Count(pods(), " Running "), pods())
	require.Contains(c.t, c.mustKubectl("delete", "--cascade=foreground", "--timeout=3m", "--filename", file), `deployment.apps "shop" deleted`)
	require.Equal(c.t, "No resources found in default namespace.\n", pods())
}
