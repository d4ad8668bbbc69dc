package nodeops

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// kubernetesNode holds the fields of a Node that the checks use.
type kubernetesNode struct {
	name   string
	ready  bool
	bootID string
}

// othersReady returns an error for each other Node that is not Ready. It also reports whether the cluster has a network:
// without one no Node is ever Ready, so there is nothing to wait for. Nodes that do not exist yet are ignored.
func (h Health) othersReady(ctx context.Context, changed rolling.Node, busy []rolling.Node) (networked bool, err error) {
	nodes, err := h.kubernetesNodes(ctx, changed)
	if err != nil {
		if len(h.controlPlanes(changed)) == 1 && changed.ControlPlane {
			return false, nil // only the changed node could answer, and the change may repair it
		}
		return false, err
	}
	var problems []error
	for _, node := range nodes {
		networked = networked || node.ready
		if !node.ready && h.counts(node.name, changed, busy) {
			problems = append(problems, fmt.Errorf("node %s is not Ready", node.name))
		}
	}
	if !networked {
		return false, nil
	}
	return true, errors.Join(problems...)
}

// counts reports whether a Node belongs to this cluster and is not being changed.
func (h Health) counts(name string, changed rolling.Node, busy []rolling.Node) bool {
	for _, node := range append(busy, changed) {
		if node.Name == name {
			return false
		}
	}
	for _, node := range h.Nodes {
		if node.Name == name {
			return true
		}
	}
	return false
}

// kubernetesNodes returns the Nodes from the first control plane that answers.
func (h Health) kubernetesNodes(ctx context.Context, changed rolling.Node) ([]kubernetesNode, error) {
	api, err := h.kubernetes(ctx, changed)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	var list nodeList
	if err := api.call(ctx, http.MethodGet, "/api/v1/nodes", nil, &list); err != nil {
		return nil, fmt.Errorf("the Kubernetes API: %w", err)
	}
	return list.nodes(), nil
}

// kubernetes returns the API server of the first control plane that answers; the changed node is tried last. It uses the
// node's own address, which depends neither on the VIP, which moves, nor on DNS. client-go would double the build time of the
// program for one request.
func (h Health) kubernetes(ctx context.Context, changed rolling.Node) (*Kubernetes, error) {
	var problems []error
	for _, node := range h.controlPlanes(changed) {
		api, err := kubernetesAt(ctx, h.Talosconfig, node.Address.String())
		if err == nil {
			return api, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
	}
	return nil, errors.Join(problems...)
}

// nodeList holds the used fields of a NodeList of k8s.io/api/core/v1.
type nodeList struct{ Items []nodeObject }

// nodeObject holds the used fields of a Node.
type nodeObject struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec   struct{ Unschedulable bool }
	Status struct {
		Conditions []struct{ Type, Status string }
		NodeInfo   struct{ BootID string }
	}
}

func (n nodeObject) isReady() bool {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True"
		}
	}
	return false
}

// IsReady reports whether a Node exists and is Ready. If the API does not answer, it returns true.
func (k *Kubernetes) IsReady(ctx context.Context, name string) bool {
	var node nodeObject
	if err := k.call(ctx, http.MethodGet, "/api/v1/nodes/"+name, nil, &node); err != nil {
		return !isRefusal(err, http.StatusNotFound)
	}
	return node.isReady()
}

// DeleteNode deletes a Node, if there is one.
func (k *Kubernetes) DeleteNode(ctx context.Context, name string) error {
	err := k.call(ctx, http.MethodDelete, "/api/v1/nodes/"+name, nil, nil)
	if isRefusal(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func (l nodeList) nodes() []kubernetesNode {
	nodes := make([]kubernetesNode, len(l.Items))
	for i, item := range l.Items {
		nodes[i] = kubernetesNode{name: item.Metadata.Name, ready: item.isReady(), bootID: item.Status.NodeInfo.BootID}
	}
	return nodes
}

// clientTLS returns the credentials of a kubeconfig made by Talos: one cluster and one user, with inline data. The error
// quotes nothing of it.
func clientTLS(kubeconfig []byte) (*tls.Config, error) {
	unreadable := errors.New("the kubeconfig that Talos made cannot be read")
	var config struct {
		Clusters []struct {
			Cluster struct {
				CA base64Text `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate base64Text `yaml:"client-certificate-data"`
				Key         base64Text `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(kubeconfig, &config); err != nil || len(config.Clusters) == 0 || len(config.Users) == 0 {
		return nil, unreadable
	}
	user := config.Users[0].User
	certificate, err := tls.X509KeyPair(user.Certificate, user.Key)
	authorities := x509.NewCertPool()
	if err != nil || !authorities.AppendCertsFromPEM(config.Clusters[0].Cluster.CA) {
		return nil, unreadable
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authorities, MinVersion: tls.VersionTLS12}, nil
}
