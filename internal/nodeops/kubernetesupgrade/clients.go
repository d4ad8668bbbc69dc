package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// clients reach the API server of one control plane at its own address: the endpoint of the cluster may lead to one that is
// being restarted.
type clients struct {
	config     *rest.Config
	kubernetes *kubernetes.Clientset
}

// requestTimeout is the longest time for one request to an API server.
const requestTimeout = 10 * time.Second

// atSomeControlPlane calls the API server of the first control plane that answers.
func (u Upgrade) atSomeControlPlane(ctx context.Context, call func(context.Context, clients) error) error {
	var problems []error
	for _, node := range u.Nodes {
		if !node.ControlPlane {
			continue
		}
		api, err := u.clientsAt(ctx, node)
		if err == nil {
			if err = call(ctx, api); err == nil {
				return nil
			}
		}
		problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
	}
	return errors.Join(problems...)
}

func (u Upgrade) clientsAt(ctx context.Context, node rolling.Node) (clients, error) {
	kubeconfig, err := nodeops.Kubeconfig(ctx, u.Talosconfig, node.Address.String())
	if err != nil {
		return clients{}, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return clients{}, errors.New("the kubeconfig that Talos made cannot be read") // the cause would quote it
	}
	config.Host = "https://" + net.JoinHostPort(node.Address.String(), strconv.Itoa(constants.DefaultControlPlanePort))
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // nodes are reached without a proxy
	config.QPS, config.Timeout = -1, requestTimeout
	config.WarningHandler = rest.NoWarnings{} // deprecations are not news here: what is removed is checked
	api, err := kubernetes.NewForConfig(config)
	return clients{config, api}, err
}
