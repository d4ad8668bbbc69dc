package talos

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// activate makes a configuration the active one, at boot and after a change without a reboot.
func (s *system) activate(cfg config.Provider) error {
	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	s.mu.Lock()
	s.active = cfg
	serving := s.keys != nil
	s.mu.Unlock()

	started := s.kubeletInputs()

	s.announce(cfg, n)

	if s.trustd() != nil { // it reads its authorities for each request (internal/app/trustd/internal/reg)
		s.joinTrust(authorityOf(cfg))
	}

	if serving { // names, addresses or authorities of the API may have changed
		s.inBackground(func(ctx context.Context) error { return s.reissue(ctx, cfg) })
	}

	if err := s.publishActive(cfg, n); err != nil {
		return err
	}

	if serving { // inputs of the kubelet and the static pods may have changed
		s.tellKubernetes()

		if s.kubeletInputs() != started {
			s.inBackground(s.restartKubelet)
		}
	}

	return nil
}

func (s *system) publishActive(cfg config.Provider, n nodeNetwork) error {
	persistent := s.installedConfig()
	if persistent == nil {
		persistent = cfg
	}

	return errors.Join(
		s.publishConfig(configres.ActiveID, cfg),
		s.publishConfig(configres.PersistentID, persistent),
		put(s, configres.NewMachineType(), func(r *configres.MachineType) { r.SetMachineType(cfg.Machine().Type()) }),
		put(s, cluster.NewIdentity(cluster.NamespaceName, cluster.LocalIdentity), func(r *cluster.Identity) {
			r.TypedSpec().NodeID = s.nodeID()
		}),
		put(s, cluster.NewInfo(), func(r *cluster.Info) {
			r.TypedSpec().ClusterID, r.TypedSpec().ClusterName = cfg.Cluster().ID(), cfg.Cluster().Name()
		}),
		put(s, k8s.NewNodename(k8s.NamespaceName, k8s.NodenameID), func(r *k8s.Nodename) {
			r.TypedSpec().Nodename = n.hostname
			r.TypedSpec().SkipNodeRegistration = cfg.Machine().Kubelet().SkipNodeRegistration()
		}),
		s.publishNetwork(n),
		s.publishLinks(cfg),
		s.publishStaticPodConfigs(cfg, n),
		s.publishKubeletSpec(cfg, n),
		s.publishRoutes(cfg),
		s.publishModules(cfg),
		s.progressVolumes(),
	)
}

// publishConfig replaces the configuration resource as a whole, because its content cannot be changed in place.
func (s *system) publishConfig(id string, cfg config.Provider) error {
	r := configres.NewMachineConfigWithID(cfg, id)

	if err := withdraw(s, r); err != nil {
		return err
	}

	if err := s.resources.Create(s.ctx, r); err != nil {
		return fmt.Errorf("publish the machine configuration: %w", err)
	}

	return nil
}

// network returns the node's name and addresses under a configuration.
func (s *system) network(cfg config.Provider) (nodeNetwork, error) {
	return networkOf(s.hardware, cfg, s.nodeID())
}
