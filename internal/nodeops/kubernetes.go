package nodeops

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// kubernetesNode is what is looked at of a Node.
type kubernetesNode struct {
	name   string
	ready  bool
	bootID string
}

// othersReady says which other Node is not Ready. It also says whether the cluster has a network: without one no Node is
// Ready, which is nobody's fault and is not waited for. A Node that is not there yet is not missed.
func (h Health) othersReady(ctx context.Context, changed rolling.Node, busy []rolling.Node) (networked bool, err error) {
	nodes, err := h.kubernetesNodes(ctx, changed)
	if err != nil {
		if len(h.controlPlanes(changed)) == 1 && changed.ControlPlane {
			return false, nil // the only one that could answer is the one to be changed, perhaps to mend it
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

// counts says whether a Node is one of ours and not being changed.
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

// kubernetesNodes asks the API server of any control plane, at the node's own address: it needs neither the VIP, which
// moves, nor a name server. client-go is not used here, since the program would be built twice as long for one request.
func (h Health) kubernetesNodes(ctx context.Context, changed rolling.Node) ([]kubernetesNode, error) {
	var problems []error
	for _, node := range h.controlPlanes(changed) {
		nodes, err := h.nodesAt(ctx, node.Address.String())
		if err == nil {
			return nodes, nil
		}
		problems = append(problems, fmt.Errorf("Kubernetes API of %s: %w", node.Name, err))
	}
	return nil, errors.Join(problems...)
}

func (h Health) nodesAt(ctx context.Context, address string) ([]kubernetesNode, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	kubeconfig, err := Kubeconfig(ctx, h.Talosconfig, address)
	if err != nil {
		return nil, err
	}
	credentials, err := clientTLS(kubeconfig)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: credentials} // no proxy leads to a node
	defer transport.CloseIdleConnections()

	location := "https://" + net.JoinHostPort(address, strconv.Itoa(constants.DefaultControlPlanePort)) + "/api/v1/nodes"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return readNodes(json.NewDecoder(response.Body))
}

// readNodes reads a NodeList of k8s.io/api/core/v1.
func readNodes(list *json.Decoder) ([]kubernetesNode, error) {
	var body struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status string }
				NodeInfo   struct{ BootID string }
			}
		}
	}
	if err := list.Decode(&body); err != nil {
		return nil, fmt.Errorf("read the list of Nodes: %w", err)
	}
	nodes := make([]kubernetesNode, len(body.Items))
	for i, item := range body.Items {
		nodes[i] = kubernetesNode{name: item.Metadata.Name, bootID: strings.TrimSpace(item.Status.NodeInfo.BootID)}
		for _, condition := range item.Status.Conditions {
			nodes[i].ready = nodes[i].ready || condition.Type == "Ready" && condition.Status == "True"
		}
	}
	return nodes, nil
}

// clientTLS are the credentials of a kubeconfig as Talos makes it: one cluster, one user, all in place. The error quotes
// nothing of it.
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
