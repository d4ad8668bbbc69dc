package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/accounttokens"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
)

// access returns the access to all nodes with the credentials in the state.
func (r *secretsRun) access(ctx context.Context) (nodeops.Health, error) {
	talosconfig, err := r.cluster.administrator(ctx)
	if err != nil {
		return nodeops.Health{}, err
	}
	health := r.health(talosconfig)
	health.DrainTimeout, health.DeleteHeldBack = r.options.DrainTimeout, r.options.DeleteHeldBack
	return health, nil
}

// secretsOf returns the machine secrets in a state with its secrets in clear text.
func secretsOf(exported *engine.Exported) (machinesecrets.Bundle, error) {
	properties, err := state.MachineSecretsText(exported.Deployment)
	if err != nil {
		return machinesecrets.Bundle{}, err
	}
	return machinesecrets.FromState(properties)
}

// roll changes the configurations of nodes in a lane, one after the other.
func (r *secretsRun) roll(ctx context.Context, nodes []rolling.Node, change func(*v1alpha1.Config)) error {
	health, err := r.access(ctx)
	if err != nil {
		return err
	}
	lane := rolling.NewLane(health, rolling.Options{MinReady: r.cluster.inventory.Cluster.Upgrade.MinReady()})
	for _, node := range nodes {
		began := r.clock.Now()
		if err := health.RollConfiguration(ctx, lane, node, change); err != nil {
			return err
		}
		r.emit(Progress{Part: "rotate", What: node.Name + " has the new configuration", Took: r.clock.Now().Sub(began)})
	}
	return nil
}

// only returns the control planes, or the workers.
func (r *secretsRun) only(controlPlanes bool) []rolling.Node {
	return slices.DeleteFunc(slices.Clone(r.nodes), func(n rolling.Node) bool { return n.ControlPlane != controlPlanes })
}

// apiServers returns clients for the API servers of all control planes, each at its own address.
func (r *secretsRun) apiServers(ctx context.Context) ([]accounttokens.APIServer, error) {
	talosconfig, err := r.cluster.administrator(ctx)
	if err != nil {
		return nil, err
	}
	var servers []accounttokens.APIServer
	for _, node := range r.only(true) {
		config, err := kubernetesclient.Config(ctx, talosconfig, node.Address.String())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node.Name, err)
		}
		config.WarningHandler = rest.NoWarnings{} // warnings about the objects do not matter for a restart
		api, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node.Name, err)
		}
		servers = append(servers, accounttokens.APIServer{Name: node.Name, API: api})
	}
	return servers, nil
}

// apiServer returns a client for the first control plane whose API server answers.
func (r *secretsRun) apiServer(ctx context.Context) (kubernetes.Interface, error) {
	servers, err := r.apiServers(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, server := range servers {
		if _, err := server.API.Discovery().ServerVersion(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", server.Name, err))
			continue
		}
		return server.API, nil
	}
	return nil, errors.Join(problems...)
}
