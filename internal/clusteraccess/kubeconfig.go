// Package clusteraccess changes kubeconfigs that Talos generates: one cluster, one user.
package clusteraccess

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"
)

// errUnreadable quotes nothing, since the text is secret.
var errUnreadable = errors.New("the kubeconfig that Talos made cannot be read: run up again")

// KubeconfigAt returns a kubeconfig with another endpoint, e.g. https://192.168.20.10:6443, and with its context named after the cluster;
// Talos names it USER@CLUSTER. Everything else is unchanged. The error quotes nothing of the text, which is secret.
func KubeconfigAt(text, endpoint string) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) != 1 {
		return "", errUnreadable
	}
	servers := serversIn(document.Content[0])
	if len(servers) == 0 {
		return "", errUnreadable
	}
	led := false
	for _, server := range servers {
		led = led || server.Value != endpoint
		server.Value = endpoint
	}
	if named := nameContext(document.Content[0]); !led && !named {
		return text, nil
	}
	var changed bytes.Buffer
	encoder := yaml.NewEncoder(&changed)
	encoder.SetIndent(4)
	if err := encoder.Encode(&document); err != nil {
		return "", errUnreadable
	}
	return changed.String(), nil
}

// nameContext names the only context, which is the current one, after its cluster. It reports whether the name has changed.
func nameContext(config *yaml.Node) bool {
	contexts, current := valueOf(config, "contexts"), valueOf(config, "current-context")
	if contexts == nil || contexts.Kind != yaml.SequenceNode || len(contexts.Content) != 1 || current == nil {
		return false
	}
	name, cluster := valueOf(contexts.Content[0], "name"), valueOf(valueOf(contexts.Content[0], "context"), "cluster")
	if name == nil || cluster == nil || cluster.Kind != yaml.ScalarNode || name.Value != current.Value || name.Value == cluster.Value {
		return false
	}
	name.Value, current.Value = cluster.Value, cluster.Value
	return true
}

// serversIn returns the values of clusters[*].cluster.server.
func serversIn(config *yaml.Node) []*yaml.Node {
	var servers []*yaml.Node
	clusters := valueOf(config, "clusters")
	if clusters == nil || clusters.Kind != yaml.SequenceNode {
		return nil
	}
	for _, cluster := range clusters.Content {
		if server := valueOf(valueOf(cluster, "cluster"), "server"); server != nil && server.Kind == yaml.ScalarNode {
			servers = append(servers, server)
		}
	}
	return servers
}

// valueOf returns the value of a key in a mapping; nil if it is missing.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
