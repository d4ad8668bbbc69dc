package inventory

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// defaulted is how Effective marks a default value.
const defaulted = "default"

// Effective is the whole inventory as files, with each default marked. Loading them gives the same inventory.
type Effective struct {
	// Cluster and Nodes are the text of cluster.yaml and nodes.yaml.
	Cluster, Nodes []byte
	// ClusterDefaults and NodesDefaults are the paths of the default values of each file, in its order.
	ClusterDefaults, NodesDefaults []string
}

// Effective returns the inventory with its defaults.
func (i *Inventory) Effective() (*Effective, error) {
	effective := &Effective{}
	var err error
	if effective.Cluster, err = strictyaml.Encode(i.Cluster, marker(i.clusterSource, &effective.ClusterDefaults)); err != nil {
		return nil, fmt.Errorf("write %s: %w", ClusterFile, err)
	}
	list := NodeList{Header: Header{APIVersion: APIVersion, Kind: KindNodes}, Nodes: i.Nodes}
	if effective.Nodes, err = strictyaml.Encode(list, marker(i.nodesSource, &effective.NodesDefaults)); err != nil {
		return nil, fmt.Errorf("write %s: %w", NodesFile, err)
	}
	return effective, nil
}

// marker returns a function that marks a value which is not in the file, and collects its path.
func marker(source *strictyaml.Document, defaults *[]string) func(*strictyaml.Path) string {
	return func(at *strictyaml.Path) string {
		if source.Has(at) {
			return ""
		}
		*defaults = append(*defaults, at.String())
		return defaulted
	}
}

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
