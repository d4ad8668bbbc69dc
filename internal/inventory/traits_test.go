package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/versions"
)

// What a minor release of Talos treats differently is read from addons, network and patches, of the cluster and of each node.
func TestTraits(t *testing.T) {
	t.Parallel()
	const cluster = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: lab
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`
	const nodes = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp-1, role: control-plane, vmid: 101, address: 192.168.20.11}
`
	patched := func(patch string) (string, string) {
		return cluster + "talos: {contract: v1.12, patches: [" + patch + "]}\n", nodes
	}
	for name, test := range map[string]struct {
		patch string
		want  versions.Traits
	}{
		"nothing":                    {`{machine: {sysctls: {a: "1"}}}`, versions.Traits{}},
		"inline manifests":           {`{cluster: {inlineManifests: [{name: a, contents: "kind: List"}]}}`, versions.Traits{OwnManifests: true}},
		"extra manifests":            {`{cluster: {extraManifests: ["https://manifests.example/a.yaml"]}}`, versions.Traits{OwnManifests: true}},
		"Talos' former installer":    {`{machine: {install: {image: "ghcr.io/siderolabs/installer:v1.12.4"}}}`, versions.Traits{InstallerImage: true}},
		"an installer of a factory":  {`{machine: {install: {image: "factory.example/nocloud-installer/0:v1.12.4"}}}`, versions.Traits{}},
		"cipher suites of etcd":      {`{cluster: {etcd: {extraArgs: {cipher-suites: TLS_AES_128_GCM_SHA256}}}}`, versions.Traits{TLSSettings: true}},
		"TLS of the API server":      {`{cluster: {apiServer: {extraArgs: {tls-min-version: VersionTLS12}}}}`, versions.Traits{TLSSettings: true}},
		"other arguments":            {`{cluster: {apiServer: {extraArgs: {v: "4"}}}}`, versions.Traits{}},
		"a firewall of etcd":         {`{apiVersion: v1alpha1, kind: NetworkRuleConfig, name: etcd, portSelector: {ports: [2379-2380], protocol: tcp}, ingress: [{subnet: 192.168.20.0/24}]}`, versions.Traits{EtcdFirewall: true}},
		"a firewall of another port": {`{apiVersion: v1alpha1, kind: NetworkRuleConfig, name: kubelet, portSelector: {ports: [10250], protocol: tcp}, ingress: [{subnet: 192.168.20.0/24}]}`, versions.Traits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inCluster, inNodes := patched(test.patch)
			inv, err := inventory.Parse("traits", []byte(inCluster), []byte(inNodes))
			require.NoError(t, err)
			require.Equal(t, test.want, inv.Traits())

			ofNode := nodes[:len(nodes)-2] + ", patches: [" + test.patch + "]}\n"
			inv, err = inventory.Parse("traits", []byte(cluster+"talos: {contract: v1.12}\n"), []byte(ofNode))
			require.NoError(t, err)
			require.Equal(t, test.want, inv.Traits(), "of a node")
		})
	}
	require.True(t, load(t, "valid-every-key").Traits().DevicePlugin)
	require.False(t, load(t, "valid-every-key").Traits().OneFamilyOfNameservers, "it names one of each")
	require.True(t, load(t, "valid-dual-stack").Traits().OneFamilyOfNameservers, "the gateway's is IPv4")
	require.Equal(t, "v1.13.9", load(t, "valid-talos-1-13").Versions().Talos.String())
	require.Equal(t, "v1.36.3", load(t, "valid-talos-1-13").Versions().Kubernetes.String())
}
