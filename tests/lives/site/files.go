package site

import "encoding/json"

// ChartFolder is where the chart of an addon lies, beside the inventory's files.
const ChartFolder = "flux2"

// NodesFile is nodes.yaml, as the JSON that YAML includes.
func (s Site) NodesFile() (string, error) {
	return file(map[string]any{"apiVersion": version, "kind": "Nodes", "nodes": s.Nodes})
}

const version = "em-infra/v1alpha1"

// ClusterFile is cluster.yaml.
func (s Site) ClusterFile() (string, error) {
	cluster := map[string]any{
		"apiVersion": version, "kind": "Cluster", "name": "life",
		"talos":      map[string]any{"version": s.TalosVersion(), "contract": "v1.12"},
		"kubernetes": s.kubernetes(),
		"network":    s.network(),
		"proxmox":    s.proxmox(),
	}
	if s.Topology.Addons {
		cluster["addons"] = map[string]any{"flux": map[string]any{"chart": map[string]any{"path": ChartFolder}}}
	}
	if s.Topology.Layers {
		cluster["storage"] = s.Layers.Storage.file()
	}
	return file(cluster)
}

func (s Site) kubernetes() map[string]any {
	kubernetes := map[string]any{"version": s.KubernetesVersion(), "endpoint": map[string]any{"vip": "192.168.20.10"}}
	if s.Topology.DualStack {
		kubernetes["podSubnets"] = []string{"10.244.0.0/16", "fd00:244::/56"}
		kubernetes["serviceSubnets"] = []string{"10.96.0.0/12", "fd00:96::/112"}
	}
	return kubernetes
}

func (s Site) network() map[string]any {
	network := map[string]any{"cidr": "192.168.20.0/24", "gateway": "192.168.20.1", "vlan": 20}
	if s.Topology.DualStack {
		network["cidr6"] = "fd00:20::/64"
	}
	return network
}

func (s Site) proxmox() map[string]any {
	template := map[string]any{"vmid": firstTemplate}
	proxmox := map[string]any{"host": Host(1), "isoStorage": "local", "diskStorage": "tank", "tags": s.Tags, "template": template}
	switch {
	case s.Topology.Shared:
		template["shared"] = true
		proxmox["isoStorage"], proxmox["diskStorage"] = "nas", "ceph"
	case s.Topology.Hosts > 1:
		others := map[string]int{}
		for i := 1; i < s.Topology.Hosts; i++ {
			others[Host(i+1)] = firstTemplate + i
		}
		template["perHost"] = others
	}
	return proxmox
}

func file(content map[string]any) (string, error) {
	text, err := json.MarshalIndent(content, "", "  ")
	return string(text) + "\n", err
}
