package main

import (
	"os"
	"path/filepath"
	"strings"
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
	for _, words := range [][]string{{"kit", "create", "site"}, {"etcd", "snapshot", "site"}} {
		refused := em(t.Context(), words...)
		require.Equal(t, exitRefused, refused.code, words)
		require.Equal(t, refusal, refused.err, words)
	}
}

// TestAReportOfOneRunOfHosts: it is made from what the run has left, and asks nothing.
func TestAReportOfOneRunOfHosts(t *testing.T) {
	root := project(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", "site"), 0o700))
	const text = "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\nhosts: [{name: vmhost, network: {bridges: [{name: vmbr1}]}}]\n"
	writeFile(t, filepath.Join(root, "stacks", "site", "hosts.yaml"), text)
	writeFile(t, filepath.Join(root, "Pulumi.site.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	run := filepath.Join(root, "artifacts", "site", "2026-11-20T22-15-00-up")
	require.NoError(t, os.MkdirAll(filepath.Join(run, "inventory"), 0o700))
	writeFile(t, filepath.Join(run, "inventory", "hosts.yaml"), strings.Replace(text, "vmbr1", "vmbr7", 1))
	writeFile(t, filepath.Join(run, "summary.json"), `{"stack": "site", "command": "up", "outcome": "succeeded", "seconds": 4, "phases": [{"phase": "provision"}],
		"resources": [{"name": "site-network-vmhost", "type": "command:local:Command", "phase": "provision", "operation": "create", "outcome": "done", "seconds": 4}]}`)

	report := em(t.Context(), "report", "--stack", "site", "--run", "2026-11-20T22-15-00-up", "--out", "-")
	require.Equal(t, exitOK, report.code, report.err)
	require.Contains(t, report.out, `<p class="sub">hosts of Proxmox VE · written `)
	require.Contains(t, report.out, ">vmbr7<", "the inventory is that of the run")
	require.Contains(t, report.out, `<span class="name">stack <small>4.0 s</small></span>`)
}

// TestTwoStacksOfHostsAreCompared: validate refuses what both describe, and a node with the address of a host.
func TestTwoStacksOfHostsAreCompared(t *testing.T) {
	root := project(t)
	const text = "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\nhosts: [{name: vmhost, network: {bridges: [{name: BRIDGE, address: ADDRESS/24}]}}]\n"
	write := func(stack, bridge, address string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", stack), 0o700))
		writeFile(t, filepath.Join(root, "stacks", stack, "hosts.yaml"), strings.NewReplacer("BRIDGE", bridge, "ADDRESS", address).Replace(text))
		writeFile(t, filepath.Join(root, "Pulumi."+stack+".yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	}
	write("one", "vmbr1", "10.0.0.1")
	write("two", "vmbr1", "10.0.0.2")
	refused := em(t.Context(), "validate", "--stack", "two")
	require.Equal(t, exitRefused, refused.code)
	require.Equal(t, "stacks/two/hosts.yaml:4: hosts[0].network.bridges[0].name: is an interface of vmhost of stack one too (both stacks stand on the same host; got vmbr1): describe it in one of the two stacks\n1 problem in 1 file; nothing was touched\n", refused.out)
	write("two", "vmbr2", "192.168.20.11")
	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	require.Contains(t, em(t.Context(), "validate", "--stack", "k3s-dev").out, "is an address of the host vmhost of stack two too")
}

// TestAStackOfSystemsBesideACluster: its file is read by the commands for every kind, and validate compares it with the cluster, in both
// directions.
func TestAStackOfSystemsBesideACluster(t *testing.T) {
	root := project(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "stacks", "dns"), 0o700))
	file := filepath.Join(root, "stacks", "dns", "systems.yaml")
	const text = `apiVersion: em-infra/v1alpha1
kind: Systems
name: dns
proxmox: {host: vmhost, diskStorage: tank}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:SUM", osType: debian}
containers:
  - {name: pihole, vmid: 211, template: debian, networks: [{address: 192.168.20.5/24}]}
`
	sound := strings.Replace(text, "SUM", strings.Repeat("ab", 32), 1)
	writeFile(t, file, sound)
	for _, stack := range []string{"dns", "k3s-dev"} {
		writeFile(t, filepath.Join(root, "Pulumi."+stack+".yaml"), "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n")
	}

	require.Equal(t, outcome{out: "stacks/dns is sound: 1 container, 1 container template on vmhost\n"}, em(t.Context(), "validate", "--stack", "dns"))
	require.Contains(t, em(t.Context(), "validate", "dns", "--show", "--output", "json").out, `"systems": {`)
	require.Regexp(t, `(?m)^dns +systems`, em(t.Context(), "list").out)

	writeFile(t, file, strings.Replace(sound, "vmid: 211", "vmid: 101", 1))
	taken := em(t.Context(), "validate", "--stack", "dns")
	require.Equal(t, exitRefused, taken.code)
	require.Contains(t, taken.out, "stacks/dns/systems.yaml:8: containers[0].vmid: is the VMID of ")
	require.Contains(t, em(t.Context(), "validate", "--stack", "k3s-dev").out, "is the VMID of pihole of stack dns too")
}
