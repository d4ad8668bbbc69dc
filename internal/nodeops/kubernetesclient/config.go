// Package kubernetesclient has client-go's configuration for the API server of one control plane, and reads what that returns. It is
// for the tool only: client-go would double the build time of the program.
package kubernetesclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// requestTimeout is the longest time for one request to an API server.
const requestTimeout = 10 * time.Second

// Config returns the configuration for a control plane's own address: the endpoint of the cluster may lead to one that is being
// restarted. The Talos API of that control plane provides the credentials.
func Config(ctx context.Context, talosconfig []byte, address string) (*rest.Config, error) {
	kubeconfig, err := nodeops.Kubeconfig(ctx, talosconfig, address)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, errors.New("the kubeconfig that Talos made cannot be read") // the cause would quote it
	}
	config.Host = "https://" + net.JoinHostPort(address, strconv.Itoa(constants.DefaultControlPlanePort))
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // nodes are reached without a proxy
	config.QPS, config.Timeout = -1, requestTimeout
	return config, nil
}
