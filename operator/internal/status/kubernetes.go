package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
)

// askKubernetes reads the Nodes with the administrator's kubeconfig.
func (s Sources) askKubernetes(ctx context.Context, r *Report) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(s.Kubeconfig)
	if err != nil {
		return unreadable("kubeconfig")
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return unreadable("kubeconfig")
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("Kubernetes API at %s: %w", config.Host, err) //nolint:staticcheck // a name, at the beginning of a line
	}
	r.nodesRead = true
	for i := range r.Machines {
		for _, node := range nodes.Items {
			if node.Name == r.Machines[i].Name {
				r.Machines[i].Kubernetes = kubernetesNode(node)
			}
		}
	}
	return nil
}

// KubernetesAnswers asks the Kubernetes API whether it is ready, with the administrator's kubeconfig. patience is the time limit. It
// returns an error if the API is not ready.
func KubernetesAnswers(ctx context.Context, kubeconfig []byte, patience time.Duration) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return unreadable("kubeconfig")
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return unreadable("kubeconfig")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the Kubernetes API at %s does not answer within %s", config.Host, patience)
	default:
		return fmt.Errorf("the Kubernetes API at %s does not answer: %w", config.Host, err)
	}
}

func kubernetesNode(node corev1.Node) *KubernetesNode {
	gpus := node.Status.Allocatable[nodeops.GPUResource]
	return &KubernetesNode{
		Ready: kubernetesclient.IsReady(&node), Cordoned: node.Spec.Unschedulable, Kubelet: node.Status.NodeInfo.KubeletVersion, GPUs: gpus.Value(),
	}
}
