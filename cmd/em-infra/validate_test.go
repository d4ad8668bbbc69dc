package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	soundCluster = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: lab
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`
	soundNodes = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp-1, role: control-plane, vmid: 101, address: 192.168.20.11}
`
	wrongNodes = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp-1, role: control-plane, vmid: 9000, address: 192.168.21.11}
`
)

// inventoryFolder writes an inventory and returns its folder.
func inventoryFolder(t *testing.T, cluster, nodes string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(cluster), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodes.yaml"), []byte(nodes), 0o600))
	return dir
}

// validate runs the command and returns what it printed and how the process would end.
func validate(args ...string) (printed, errText string, code int) {
	command := newValidateCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.Execute()
	return out.String(), errorText(err), exitCode(err)
}

func TestValidateSoundInventory(t *testing.T) {
	t.Parallel()
	dir := inventoryFolder(t, soundCluster, soundNodes)
	printed, errText, code := validate("--inventory", dir)
	require.Equal(t, dir+" is sound: 1 control plane on vmhost; Talos v1.12.4, Kubernetes v1.35.4\n", printed)
	require.Empty(t, errText)
	require.Equal(t, exitOK, code)
}

func TestValidatePrintsEveryProblem(t *testing.T) {
	t.Parallel()
	dir := inventoryFolder(t, soundCluster, wrongNodes)
	printed, errText, code := validate("--inventory", dir)
	require.Equal(t, dir+"/nodes.yaml:4: nodes[0].vmid: is the VMID of the template on vmhost too (VMIDs are unique; got 9000): "+
		"choose another, 100 to 999999999\n"+
		dir+"/nodes.yaml:4: nodes[0].address: lies outside the network (network.cidr is 192.168.20.0/24; got 192.168.21.11): "+
		"choose an address from 192.168.20.1 to 192.168.20.254\n"+
		"2 problems in 1 file; nothing was touched\n", printed)
	require.Empty(t, errText, "the problems are said already")
	require.Equal(t, exitRefused, code)
}

func TestValidateShow(t *testing.T) {
	t.Parallel()
	printed, _, code := validate("--show", "--inventory", inventoryFolder(t, soundCluster, soundNodes))
	require.Equal(t, exitOK, code)
	require.Contains(t, printed, "# cluster.yaml\napiVersion: em-infra/v1alpha1\nkind: Cluster\nname: lab\nprotect: false # default\n")
	require.Contains(t, printed, "---\n# nodes.yaml\napiVersion: em-infra/v1alpha1\n")
	require.Contains(t, printed, "    address: 192.168.20.11\n    host: vmhost # default\n    mac: BC:24:11:79:6A:AF # default\n")
}

func TestValidateJSON(t *testing.T) {
	t.Parallel()
	dir := inventoryFolder(t, soundCluster, wrongNodes)
	printed, errText, code := validate("--output", "json", "--show", "--inventory", dir)
	require.Empty(t, errText)
	require.Equal(t, exitRefused, code)
	require.JSONEq(t, `{"sound": false, "problems": [
		{"file": "`+dir+`/nodes.yaml", "path": "nodes[0].vmid", "line": 4, "column": 45, "problem": "is the VMID of the template on vmhost too",
		 "rule": "VMIDs are unique", "got": "9000", "do": "choose another, 100 to 999999999"},
		{"file": "`+dir+`/nodes.yaml", "path": "nodes[0].address", "line": 4, "column": 60, "problem": "lies outside the network",
		 "rule": "network.cidr is 192.168.20.0/24", "got": "192.168.21.11", "do": "choose an address from 192.168.20.1 to 192.168.20.254"}]}`, printed)
}

func TestValidateJSONOfASoundInventory(t *testing.T) {
	t.Parallel()
	dir := inventoryFolder(t, soundCluster, soundNodes)
	printed, _, code := validate("--output", "json", "--inventory", dir)
	require.Equal(t, exitOK, code)
	require.JSONEq(t, `{"sound": true, "problems": []}`, printed)

	printed, _, code = validate("--output", "json", "--show", "--inventory", dir)
	require.Equal(t, exitOK, code)
	var result struct {
		Effective struct {
			Cluster  struct{ Name string }
			Nodes    struct{ Nodes []struct{ Mac string } }
			Defaults struct{ Cluster, Nodes []string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &result))
	require.Equal(t, "lab", result.Effective.Cluster.Name)
	require.Equal(t, "BC:24:11:79:6A:AF", result.Effective.Nodes.Nodes[0].Mac)
	require.Contains(t, result.Effective.Defaults.Cluster, "talos.version")
	require.Contains(t, result.Effective.Defaults.Nodes, "nodes[0].mac")
}

func TestValidateRefusesItsFlags(t *testing.T) {
	t.Parallel()
	_, errText, code := validate("--output", "xml")
	require.Equal(t, `--output: "xml" is no format: choose text or json`, errText)
	require.Equal(t, exitRefused, code)
	_, errText, code = validate("--stack", "a", "--inventory", "b")
	require.Equal(t, "--stack and --inventory: which of the two is meant? give one", errText)
	require.Equal(t, exitRefused, code)
}

// Without a flag the current folder is meant. The test changes it, so it does not run beside others.
func TestValidateCurrentFolder(t *testing.T) {
	t.Chdir(inventoryFolder(t, soundCluster, soundNodes))
	printed, _, code := validate()
	require.Equal(t, "the inventory is sound: 1 control plane on vmhost; Talos v1.12.4, Kubernetes v1.35.4\n", printed)
	require.Equal(t, exitOK, code)
}

func TestValidateStack(t *testing.T) {
	t.Chdir("../..")
	printed, errText, code := validate("--stack", "k3s-dev")
	require.Empty(t, errText)
	require.Contains(t, printed, "stacks/k3s-dev is sound: ")
	require.Equal(t, exitOK, code)
}

func TestValidateWithoutAnInventory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	printed, _, code := validate("--inventory", dir)
	require.Equal(t, dir+"/cluster.yaml: no such file: create it, or name the folder that holds the inventory\n"+
		dir+"/nodes.yaml: no such file: create it, or name the folder that holds the inventory\n"+
		"2 problems in 2 files; nothing was touched\n", printed)
	require.Equal(t, exitRefused, code)
}

// A copy of a stack takes the machines of the first for its own, unless it is given other names, VMIDs and addresses.
func TestACopyOfAStackIsNamed(t *testing.T) {
	root := project(t)
	for _, file := range []string{"cluster.yaml", "nodes.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "stacks/k3s-dev", file))
		require.NoError(t, err)
		writeFile(t, filepath.Join(root, "stacks/k3s-copy", file), string(text))
	}
	verdict := em(t.Context(), "validate", "k3s-copy")
	require.Equal(t, exitOK, verdict.code, "k3s-dev has no stack file, so it is a folder that was put away")

	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	refused := em(t.Context(), "validate", "k3s-copy")
	require.Equal(t, exitRefused, refused.code)
	require.Equal(t, `stacks/k3s-copy/cluster.yaml:3: name: is the name of the cluster of stack k3s-dev too (both stacks stand on the same host; got lab): choose another name
stacks/k3s-copy/cluster.yaml:5: kubernetes.endpoint.vip: is the address of the Kubernetes API (its vip) of stack k3s-dev too (both stacks stand on the same host; got 192.168.20.10): choose a free address
stacks/k3s-copy/nodes.yaml:4: nodes[0].name: is the name of cp-1 of stack k3s-dev too (both stacks stand on the same host; got cp-1): choose another name
stacks/k3s-copy/nodes.yaml:4: nodes[0].vmid: is the VMID of cp-1 of stack k3s-dev too (both stacks stand on the same host; got 101): choose another, 100 to 999999999
stacks/k3s-copy/nodes.yaml:4: nodes[0].address: is the address of cp-1 of stack k3s-dev too (both stacks stand on the same host; got 192.168.20.11): choose a free address
5 problems in 2 files; nothing was touched
`, refused.out)
	for _, args := range [][]string{{"preview", "k3s-copy", "--lab"}, {"up", "k3s-copy", "--lab", "--yes"}} {
		require.Equal(t, refusal(strings.TrimSuffix(refused.out, "\n")), em(t.Context(), args...))
	}
	require.Equal(t, exitOK, em(t.Context(), "validate", "k3s-dev").code, "the copy is no stack yet")

	require.Equal(t, exitOK, em(t.Context(), "validate", "--inventory", "stacks/k3s-copy").code)
	for _, itself := range []string{"k3s-dev", "k3s-dev-rehearsal"} {
		require.Equal(t, refusal("there is no lab of "+itself+" yet: start one with `em-infra lab start --stack "+itself+"`"),
			em(t.Context(), "preview", "--stack", itself, "--inventory", "stacks/k3s-copy", "--lab"), "the stack's own next inventory")
	}

	writeFile(t, filepath.Join(root, "Pulumi.k3s-copy.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006/api2/json\n")
	require.Equal(t, exitRefused, em(t.Context(), "validate", "k3s-copy").code)
	writeFile(t, filepath.Join(root, "Pulumi.k3s-copy.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://elsewhere:8006\n")
	require.Equal(t, exitOK, em(t.Context(), "validate", "k3s-copy").code, "another host may use the same numbers")
}
