package site

import "strings"

// Wrong are the two files of an inventory with a mistake.
type Wrong struct {
	Cluster, Nodes string
	// Made is false where the mistake makes no sense.
	Made bool
}

// Mistake is an edit that em-infra must refuse, with nothing touched.
type Mistake func(s Site) (Wrong, error)

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
	return func(s Site) (Wrong, error) {
		cluster, nodes, err := s.files()
		wrong := strings.Replace(cluster, old, replacement, 1)
		return Wrong{wrong, nodes, wrong != cluster}, err
	}
}

func inNodes(change func(nodes []Node) bool) Mistake {
	return func(s Site) (Wrong, error) {
		wrong := s.clone()
		made := change(wrong.Nodes)
		cluster, nodes, err := wrong.files()
		return Wrong{cluster, nodes, made}, err
	}
}

func (s Site) files() (cluster, nodes string, err error) {
	if cluster, err = s.ClusterFile(); err != nil {
		return "", "", err
	}
	nodes, err = s.NodesFile()
	return cluster, nodes, err
}
