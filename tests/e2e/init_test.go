package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab"
)

// hostsOfInit is the host of a user who begins: no inventory describes it.
const hostsOfInit = `network: 192.168.20.0/24
hosts:
  - name: pve
    memoryGiB: 96
    storages:
      - {name: local, type: dir, content: [iso], sizeGiB: 96}
      - {name: tank, type: zfspool, content: [images], sizeGiB: 2048}
    pci:
      - {address: "0000:01:00.0", vendor: "0x10de", device: "0x2204", subsystemVendor: "0x1462", subsystemDevice: "0x3881", iommuGroup: 12, mapping: rtx3090}
`

// TestE2EFromAnEmptyFolder: a host that runs is asked what it has, and what init writes in an empty folder comes up without an edit.
func TestE2EFromAnEmptyFolder(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	root := t.TempDir()
	r := &rehearsal{t: t, stack: "home", root: root, inventory: filepath.Join(root, "stacks", "home")}
	r.env = []string{"PULUMI_CONFIG_PASSPHRASE=made up", "KUBECONFIG=" + filepath.Join(root, "own", "config")}
	description := r.startsLabOfItsOwn(hostsOfInit)
	r.env = append(r.env, "EM_INFRA_PROXMOX_TOKEN="+description.Token)

	written := r.outsideOfStacks("init", "--stack", "home", "--endpoint", description.ProxmoxEndpoint(), "--insecure", "--image-factory", description.FactoryURL(),
		"--network", "192.168.20.0/24", "--vlan", "20", "--gpu-workers", "1")
	require.Contains(t, written, " written    stacks/home/nodes.yaml\n")
	require.Contains(t, written, "home: 1+2 nodes on pve, Kubernetes API at https://192.168.20.10:6443\n")
	require.Contains(t, r.read(filepath.Join(r.inventory, "nodes.yaml")), "gpus: [{mapping: rtx3090}]")
	r.outsideOfStacks("validate", "--stack", "home")
	r.mustRun(0, "preflight")

	r.mustRun(0, "preflight", "--lab")
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "home is up")
	r.nodesAreReady("home-control-1", "home-gpu-1", "home-worker-1")
	require.Contains(t, r.mustRun(0, "preview", "--lab"), "nothing would change\n")

	r.mustRun(0, "kubeconfig", "--lab", "--merge", "--use")
	own, err := clientcmd.LoadFromFile(filepath.Join(root, "own", "config"))
	require.NoError(t, err)
	require.Equal(t, "home", own.CurrentContext)
	r.mustRun(0, "kubeconfig", "--lab", "--unmerge")

	beside := r.outsideOfStacks("init", "--stack", "second", "--endpoint", description.ProxmoxEndpoint(), "--insecure", "--image-factory", description.FactoryURL(),
		"--network", "192.168.20.0/24", "--vlan", "20", "--workers", "0")
	require.NotContains(t, beside, "Pulumi.yaml", "the project is there")
	second := r.read(filepath.Join(root, "stacks", "second", "nodes.yaml"))
	require.Contains(t, second, "{name: second-control-1, role: control-plane, vmid: 201, address: 192.168.20.15}", "the first stack and its machines have the others")
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// startsLabOfItsOwn starts a lab that no inventory describes, in the folder of the rehearsal.
func (r *rehearsal) startsLabOfItsOwn(hosts string) lab.Description {
	r.t.Helper()
	program, file := filepath.Join(r.t.TempDir(), "em-infra-lab"), filepath.Join(r.t.TempDir(), "hosts.yaml")
	require.NoError(r.t, os.WriteFile(file, []byte(hosts), 0o600))
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-o", program, "./cmd/em-infra-lab"},
		{program, "start", "--dir", r.dir(), "--hosts", file, "--kubernetes"},
	} {
		command := exec.CommandContext(r.t.Context(), args[0], args[1:]...)
		command.Dir = projectRoot(r.t)
		output, err := command.CombinedOutput()
		require.NoError(r.t, err, "%s", output)
	}
	r.t.Cleanup(func() {
		output, err := exec.CommandContext(context.Background(), program, "stop", "--dir", r.dir()).CombinedOutput()
		if err != nil {
			r.t.Errorf("stop the lab: %v\n%s", err, output)
		}
	})
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	return description
}

// outsideOfStacks runs a command that makes the stack it names.
func (r *rehearsal) outsideOfStacks(args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), runBound)
	defer cancel()
	output, err := r.command(ctx, args...).CombinedOutput()
	require.NoError(r.t, err, "%s: %s", strings.Join(args, " "), output)
	return string(output)
}

// kubeconfigHasContext checks the context of the kubeconfig that a run has written.
func (r *rehearsal) kubeconfigHasContext(name string) {
	r.t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	require.Equal(r.t, name, config.CurrentContext)
	require.Equal(r.t, name, config.Contexts[name].Cluster)
}
