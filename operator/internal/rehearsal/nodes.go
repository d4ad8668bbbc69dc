package rehearsal

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
)

// NodesOf returns the Nodes of a kubeconfig's cluster.
func NodesOf(ctx context.Context, kubeconfig []byte) ([]Node, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of the stack: %w", err)
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // a proxy cannot reach the lab's addresses
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Nodes: %w", err)
	}
	nodes := make([]Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = Node{Name: list.Items[i].Name, Ready: kubernetesclient.IsReady(&list.Items[i])}
	}
	return nodes, nil
}
