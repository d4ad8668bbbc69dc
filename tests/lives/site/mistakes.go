package site

import "strings"

// Mistake is an edit that em-infra must refuse, with nothing touched. It returns the two files, and false where it makes no sense.
type Mistake func(s Site) (cluster, nodes string, made bool)

// Mistakes are all that there are.
var Mistakes = map[string]Mistake{
	"unknown-key":       inCluster(`"name": "life"`, `"nmae": "life"`),
	"talos-unknown":     inCluster(`"version": "v1.12.`, `"version": "v1.15.`),
	"talos-skips":       inCluster(`"version": "v1.12.`, `"version": "v1.14.`),
	"talos-back":        inCluster(`"version": "v1.12.`, `"version": "v1.11.`),
	"kubernetes-beyond": inCluster(`"version": "v1.35.`, `"version": "v1.36.`),
	"kubernetes-back":   inCluster(`"version": "v1.35.`, `"version": "v1.34.`),
	"contract":          inCluster(`"contract": "v1.12"`, `"contract": "v1.11"`),
	"vip-is-gateway":    inCluster(`"vip": "192.168.20.10"`, `"vip": "192.168.20.1"`),
	"cluster-name":      inCluster(`"name": "life"`, `"name": "other"`),
	"address-twice":     inNodes(func(nodes []Node) bool { nodes[len(nodes)-1].Address = nodes[0].Address; return len(nodes) > 1 }),
	"vmid-twice":        inNodes(func(nodes []Node) bool { nodes[len(nodes)-1].VMID = nodes[0].VMID; return len(nodes) > 1 }),
	"vmid-of-template":  inNodes(func(nodes []Node) bool { nodes[len(nodes)-1].VMID = firstTemplate; return true }),
	"control-vmid":      inNodes(func(nodes []Node) bool { nodes[0].VMID = 199; return true }),
	"control-address":   inNodes(func(nodes []Node) bool { nodes[0].Address = "192.168.20.99"; return true }),
	"disk-shrinks":      inNodes(func(nodes []Node) bool { nodes[0].DiskGiB = 16; return true }),
	"control-is-worker": inNodes(func(nodes []Node) bool { nodes[0].Role = Worker; return true }),
}

func inCluster(old, replacement string) Mistake {
	return func(s Site) (cluster, nodes string, made bool) {
		cluster, nodes = s.files()
		wrong := strings.Replace(cluster, old, replacement, 1)
		return wrong, nodes, wrong != cluster
	}
}

func inNodes(change func(nodes []Node) bool) Mistake {
	return func(s Site) (cluster, nodes string, made bool) {
		wrong := s.clone()
		made = change(wrong.Nodes)
		cluster, nodes = wrong.files()
		return cluster, nodes, made
	}
}

func (s Site) files() (cluster, nodes string) {
	cluster, err := s.ClusterFile()
	if err == nil {
		nodes, err = s.NodesFile()
	}
	if err != nil {
		panic(err) // numbers and texts
	}
	return cluster, nodes
}
