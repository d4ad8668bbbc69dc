package kubernetesupgrade

import (
	"context"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// upgradeProxy sets the image of kube-proxy in the machine configurations of the control planes, from which Talos makes its
// manifest. A cluster without kube-proxy gets it too, since its configuration names the image.
func (u Upgrade) upgradeProxy(ctx context.Context, controlPlanes []member) error {
	for _, m := range controlPlanes {
		image, err := u.proxyImage(ctx, m)
		if wanted := retagged(image, u.To); err == nil && image != wanted {
			u.say("kube-proxy in the configuration of %s: %s", m.Name, u.To)
			err = u.patch(ctx, m.Node, func(config *v1alpha1.Config) { setProxy(clusterOf(config), wanted) })
		}
		if err != nil {
			return fmt.Errorf("kube-proxy is not upgraded, because the machine configuration of %s cannot be changed (%w): run up again; it goes on from here", m.Name, err)
		}
	}
	return nil
}

// proxyImage returns the image in the machine configuration of a control plane, or Talos' default.
func (u Upgrade) proxyImage(ctx context.Context, m member) (image string, err error) {
	err = u.call(ctx, m.Node, func(ctx context.Context, api *client.Client) error {
		running, err := nodeops.RunningConfiguration(ctx, api)
		if err == nil {
			image = running.Cluster().Proxy().Image()
		}
		return err
	})
	return image, err
}

func setProxy(cluster *v1alpha1.ClusterConfig, image string) {
	if cluster.ProxyConfig == nil {
		cluster.ProxyConfig = &v1alpha1.ProxyConfig{}
	}
	cluster.ProxyConfig.ContainerImage = image
}
