package kubernetesupgrade

import (
	"context"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/versions"
)

// component is a static pod of each control plane.
type component struct {
	id string
	// image returns what Talos runs or is about to run; "" for a component that the machine configuration disables.
	image func(ctx context.Context, resources state.State) (string, error)
	// set writes an image into a machine configuration.
	set func(cluster *v1alpha1.ClusterConfig, image string)
}

// components in the order of their upgrade: none may be newer than the API servers
// (https://kubernetes.io/releases/version-skew-policy).
var components = []component{
	{
		id: k8s.APIServerID,
		image: func(ctx context.Context, resources state.State) (string, error) {
			config, err := safe.StateGetByID[*k8s.APIServerConfig](ctx, resources, k8s.APIServerConfigID)
			if err != nil {
				return "", err
			}
			return config.TypedSpec().Image, nil
		},
		set: func(cluster *v1alpha1.ClusterConfig, image string) {
			if cluster.APIServerConfig == nil {
				cluster.APIServerConfig = &v1alpha1.APIServerConfig{}
			}
			cluster.APIServerConfig.ContainerImage = image
		},
	},
	{
		id: k8s.ControllerManagerID,
		image: func(ctx context.Context, resources state.State) (string, error) {
			config, err := safe.StateGetByID[*k8s.ControllerManagerConfig](ctx, resources, k8s.ControllerManagerConfigID)
			if err != nil || !config.TypedSpec().Enabled {
				return "", err
			}
			return config.TypedSpec().Image, nil
		},
		set: func(cluster *v1alpha1.ClusterConfig, image string) {
			if cluster.ControllerManagerConfig == nil {
				cluster.ControllerManagerConfig = &v1alpha1.ControllerManagerConfig{}
			}
			cluster.ControllerManagerConfig.ContainerImage = image
		},
	},
	{
		id: k8s.SchedulerID,
		image: func(ctx context.Context, resources state.State) (string, error) {
			config, err := safe.StateGetByID[*k8s.SchedulerConfig](ctx, resources, k8s.SchedulerConfigID)
			if err != nil || !config.TypedSpec().Enabled {
				return "", err
			}
			return config.TypedSpec().Image, nil
		},
		set: func(cluster *v1alpha1.ClusterConfig, image string) {
			if cluster.SchedulerConfig == nil {
				cluster.SchedulerConfig = &v1alpha1.SchedulerConfig{}
			}
			cluster.SchedulerConfig.ContainerImage = image
		},
	},
}

// ask reads what a member runs from the node itself.
func (u Upgrade) ask(ctx context.Context, m *member) error {
	return u.call(ctx, m.Node, func(ctx context.Context, api *client.Client) error {
		version, err := api.Version(ctx)
		if err != nil {
			return err
		}
		for _, message := range version.GetMessages() {
			if m.talos, err = versions.Parse(message.GetVersion().GetTag()); err != nil {
				return err
			}
		}
		found := *m
		if err := found.readImages(ctx, api.COSI); err != nil {
			return err
		}
		*m = found
		return nil
	})
}

func (m *member) readImages(ctx context.Context, resources state.State) error {
	kubelet, err := safe.StateGetByID[*k8s.KubeletSpec](ctx, resources, k8s.KubeletID)
	if err != nil {
		return err
	}
	images := map[string]string{k8s.KubeletID: kubelet.TypedSpec().Image}
	m.running = nil
	for _, c := range components {
		if !m.ControlPlane {
			break
		}
		image, err := c.image(ctx, resources)
		if err != nil {
			return err
		}
		if image == "" {
			continue
		}
		version, err := versionOf(image)
		if err != nil {
			return err
		}
		if m.running == nil {
			m.running = map[string]versions.Version{}
		}
		images[c.id], m.running[c.id] = image, version
	}
	m.images = images
	return nil
}

// call runs quick calls against a node's own Talos API.
func (u Upgrade) call(ctx context.Context, node rolling.Node, calls func(context.Context, *client.Client) error) error {
	return nodeops.Ask(ctx, u.Talosconfig, node.Address.String(), calls)
}
