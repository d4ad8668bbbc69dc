package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// clients reach the API server of one control plane at its own address: the endpoint of the cluster may lead to one that is
// being restarted.
type clients struct {
	config     *rest.Config
	kubernetes *kubernetes.Clientset
}

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
	config, err := kubernetesclient.Config(ctx, u.Talosconfig, node.Address.String())
	if err != nil {
		return clients{}, err
	}
	config.WarningHandler = rest.NoWarnings{} // deprecation warnings are not needed: what is removed is checked
	api, err := kubernetes.NewForConfig(config)
	return clients{config, api}, err
}
