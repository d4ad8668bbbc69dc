package inventory

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Effective is the whole inventory as files, with each default marked. Loading them gives the same inventory.
type Effective struct {
	// Cluster and Nodes are the text of cluster.yaml and nodes.yaml.
	Cluster, Nodes []byte
	// ClusterDefaults and NodesDefaults are the paths of the default values of each file, in its order.
	ClusterDefaults, NodesDefaults []string
}

// Effective returns the inventory with its defaults.
func (i *Inventory) Effective() (*Effective, error) {
	cluster, err := manifest.Annotated(ClusterFile, i.Cluster, i.clusterSource, i.notes())
	if err != nil {
		return nil, err
	}
	nodes, err := manifest.Effective(NodesFile, NodeList{Header: Header{APIVersion: APIVersion, Kind: KindNodes}, Nodes: i.Nodes}, i.nodesSource)
	return &Effective{
		Cluster: cluster.Text, ClusterDefaults: cluster.Defaults, Nodes: nodes.Text, NodesDefaults: nodes.Defaults,
	}, err
}

// notes are what the file does not say: the addresses of systems that it names.
func (i *Inventory) notes() map[string]string {
	var found []string
	for _, server := range i.Cluster.Network.NamedSystems() {
		if server.Address.IsValid() {
			found = append(found, server.String()+" is "+server.Address.String())
		}
	}
	if len(found) == 0 {
		return nil
	}
	return map[string]string{nameserversPath().String(): strings.Join(found, ", ")}
}

// Files returns the same as [Inventory.Effective], file by file.
func (i *Inventory) Files() ([]manifest.EffectiveFile, error) {
	effective, err := i.Effective()
	if err != nil {
		return nil, err
	}
	return []manifest.EffectiveFile{
		{Name: ClusterFile, Text: effective.Cluster, Defaults: effective.ClusterDefaults},
		{Name: NodesFile, Text: effective.Nodes, Defaults: effective.NodesDefaults},
	}, nil
}

// Kind returns [manifest.Platform].
func (*Inventory) Kind() manifest.Kind { return manifest.Platform }

// Hosts returns the nodes of Proxmox VE that its machines are on, in the order in which they are named first.
func (i *Inventory) Hosts() []string { return i.Nodes.Hosts() }

// Summary returns the inventory in one line.
func (i *Inventory) Summary() string {
	parts := []string{counted(len(i.Nodes.ControlPlanes()), "control plane")}
	if plain := len(i.Nodes.Workers()) - len(i.Nodes.GPUWorkers()); plain > 0 {
		parts = append(parts, counted(plain, "worker"))
	}
	if gpus := len(i.Nodes.GPUWorkers()); gpus > 0 {
		parts = append(parts, counted(gpus, "GPU worker"))
	}
	return fmt.Sprintf("%s is sound: %s on %s; Talos %s, Kubernetes %s", or(i.Dir, "the inventory"), enumerated(parts),
		enumerated(i.Nodes.Hosts()), i.Cluster.Talos.Version, i.Cluster.Kubernetes.Version)
}

// enumerated returns a list as part of a sentence.
func enumerated(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
