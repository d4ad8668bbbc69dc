package removal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// kubernetes is a client of the first API server that answers, at its node's own address.
func (w Worker) kubernetes(ctx context.Context) (kubernetes.Interface, error) {
	endpoints, err := nodeops.Endpoints(w.Talosconfig)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, address := range endpoints {
		api, err := w.kubernetesAt(ctx, address)
		if err == nil {
			return api, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", address, err))
	}
	return nil, fmt.Errorf("%s is not removed, because no control plane answers (%w): %w", w.Name, errors.Join(problems...), errNoAPI)
}

func (w Worker) kubernetesAt(ctx context.Context, address string) (kubernetes.Interface, error) {
	kubeconfig, err := nodeops.Kubeconfig(ctx, w.Talosconfig, address)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, errors.New("the kubeconfig that Talos made cannot be read") // without the cause, which may quote it
	}
	config.Host = "https://" + net.JoinHostPort(address, strconv.Itoa(constants.DefaultControlPlanePort))
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // none leads to a node
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	_, err = api.Discovery().ServerVersion()
	return api, err
}
