package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// errNotTakenUp means that Talos has not made the static pod of a changed configuration yet.
var errNotTakenUp = errors.New("Talos has not taken its new version up") //nolint:staticcheck // Talos is a name

// upgradeStaticPod upgrades one component of one control plane and waits until all its static pods run with their current
// configuration, and its API server is ready. It also waits for one that was upgraded before, by a run that was killed.
func (u Upgrade) upgradeStaticPod(ctx context.Context, c component, m member) error {
	was, enabled := m.running[c.id]
	if !enabled {
		return nil
	}
	wanted := retagged(m.images[c.id], u.To)
	if was.Compare(u.To) != 0 {
		u.say("%s on %s: %s → %s", c.id, m.Name, was, u.To)
		if err := u.patch(ctx, m.Node, func(config *v1alpha1.Config) { c.set(clusterOf(config), wanted) }); err != nil {
			return fmt.Errorf("%s on %s is not upgraded, because its machine configuration cannot be changed (%w): run up again; it goes on from here", c.id, m.Name, err)
		}
	}
	err := u.await(ctx, u.Limits.Component, func(ctx context.Context) error { return u.runsStaticPod(ctx, c, m, wanted) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s on %s: %w", c.id, m.Name, err)
	default:
		return fmt.Errorf("%s %s does not work on %s after %s (%w): talosctl -n %s logs -k kube-system/%[1]s says why; mend that, then run up again; no other node is touched until it works", c.id, u.To, m.Name, u.Limits.Component, err, m.Address)
	}
}

func (u Upgrade) runsStaticPod(ctx context.Context, c component, m member, wanted string) error {
	var image string
	err := u.call(ctx, m.Node, func(ctx context.Context, api *client.Client) (err error) {
		image, err = c.image(ctx, api.COSI)
		return err
	})
	switch {
	case err != nil:
		return err
	case image != wanted:
		return errNotTakenUp
	default:
		return u.health().Serves(ctx, m.Node)
	}
}

// clusterOf returns the part of a machine configuration that describes the cluster.
func clusterOf(config *v1alpha1.Config) *v1alpha1.ClusterConfig {
	if config.ClusterConfig == nil {
		config.ClusterConfig = &v1alpha1.ClusterConfig{}
	}
	return config.ClusterConfig
}
