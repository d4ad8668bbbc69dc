package talos

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/lab/talos/discovery"
)

// clusterKey returns the node's key for the discovery service; ok is false if the configuration does not use the service.
func clusterKey(cfg config.Config) (key discovery.ClusterKey, ok bool) {
	discover := cfg.Cluster().Discovery()
	if !discover.Enabled() || !discover.Registries().Service().Enabled() {
		return discovery.ClusterKey{}, false
	}

	return discovery.ClusterKey{ID: cfg.Cluster().ID(), Secret: cfg.Cluster().Secret()}, true
}

// affiliate returns this node's announcement.
func (s *system) affiliate(cfg config.Config, n nodeNetwork) discovery.Affiliate {
	a := discovery.Affiliate{
		NodeID:          s.nodeID(),
		Hostname:        n.fqdn(),
		Addresses:       n.ips(),
		Type:            cfg.Machine().Type(),
		OperatingSystem: "Talos (" + s.release.Version + ")",
	}

	if a.Type.IsControlPlane() {
		a.APIServerPort = cfg.Cluster().LocalAPIServerPort()
	}

	return a
}

func (s *system) nodeID() string {
	if d := s.installed(); d != nil {
		return d.read().Identity
	}

	return ""
}

// controlPlanes returns the addresses of control planes from discovery and from the Kubernetes endpoint
// (controllers/k8s/static_endpoint.go), and a channel that is closed when they may have changed.
func (s *system) controlPlanes(cfg config.Config) ([]netip.Addr, <-chan struct{}) {
	var (
		addrs   []netip.Addr
		changed <-chan struct{}
	)

	if addr, err := netip.ParseAddr(cfg.Cluster().Endpoint().Hostname()); err == nil {
		addrs = append(addrs, addr)
	}

	if key, ok := clusterKey(cfg); ok {
		var affiliates []discovery.Affiliate

		affiliates, changed = s.fleet.discovery.Affiliates(key)
		for _, a := range affiliates {
			if a.Type.IsControlPlane() {
				addrs = append(addrs, a.Addresses...)
			}
		}
	}

	slices.SortFunc(addrs, netip.Addr.Compare)

	return slices.Compact(addrs), changed
}

// announce announces this node to the discovery service, if the configuration uses it.
func (s *system) announce(cfg config.Config, n nodeNetwork) {
	key, ok := clusterKey(cfg)
	if !ok {
		return
	}

	by := s.fleet.discovery.Announce(key, s.affiliate(cfg, n))

	s.mu.Lock()
	defer s.mu.Unlock()

	s.announcement = &by
}

// vanish withdraws a stopped node from discovery after Talos' timeout, unless its next boot has announced it before.
func (s *system) vanish() {
	s.mu.Lock()
	by := s.announcement
	s.mu.Unlock()

	if by == nil {
		return
	}

	fleet := s.fleet

	// a closed fleet withdraws nothing
	_ = fleet.spawn(func() {
		if fleet.config.Pace.Sleep(fleet.ctx, fleet.config.Durations.Affiliate) == nil {
			fleet.discovery.Expire(*by)
		}
	})
}

// followDiscovery updates the list of members until the context ends.
func (s *system) followDiscovery(ctx context.Context, key discovery.ClusterKey) error {
	var published []discovery.Affiliate

	for {
		affiliates, changed := s.fleet.discovery.Affiliates(key)
		if err := s.publishMembers(published, affiliates); err != nil {
			return err
		}

		published = affiliates

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followCluster follows the discovery service if the configuration uses it.
func (s *system) followCluster(ctx context.Context, cfg config.Provider) error {
	key, ok := clusterKey(cfg)
	if !ok {
		return nil
	}

	return s.followDiscovery(ctx, key)
}

// publishMembers publishes the changes in the list of the cluster's nodes, by name.
func (s *system) publishMembers(former, present []discovery.Affiliate) error {
	var errs []error

	for _, gone := range former {
		if !slices.ContainsFunc(present, func(a discovery.Affiliate) bool { return a.NodeID == gone.NodeID }) {
			errs = append(errs, withdraw(s, cluster.NewMember(cluster.NamespaceName, gone.Hostname)),
				withdraw(s, cluster.NewAffiliate(cluster.NamespaceName, gone.NodeID)))
		}
	}

	for _, a := range present {
		if !slices.ContainsFunc(former, a.Equal) {
			errs = append(errs, s.publishMember(a))
		}
	}

	return errors.Join(append(errs, s.publishEndpoints(present))...)
}

func (s *system) publishMember(a discovery.Affiliate) error {
	var controlPlane *cluster.ControlPlane
	if a.APIServerPort != 0 {
		controlPlane = &cluster.ControlPlane{APIServerPort: a.APIServerPort}
	}

	return errors.Join(
		put(s, cluster.NewMember(cluster.NamespaceName, a.Hostname), func(r *cluster.Member) {
			*r.TypedSpec() = cluster.MemberSpec{
				NodeID: a.NodeID, Addresses: a.Addresses, Hostname: a.Hostname, MachineType: a.Type,
				OperatingSystem: a.OperatingSystem, ControlPlane: controlPlane,
			}
		}),
		put(s, cluster.NewAffiliate(cluster.NamespaceName, a.NodeID), func(r *cluster.Affiliate) {
			*r.TypedSpec() = cluster.AffiliateSpec{
				NodeID: a.NodeID, Addresses: a.Addresses, Hostname: a.Hostname, Nodename: a.Hostname, MachineType: a.Type,
				OperatingSystem: a.OperatingSystem, ControlPlane: controlPlane,
			}
		}),
	)
}

// publishEndpoints publishes the addresses of the control planes.
func (s *system) publishEndpoints(present []discovery.Affiliate) error {
	var endpoints []netip.Addr

	for _, a := range present {
		if a.Type.IsControlPlane() {
			endpoints = append(endpoints, a.Addresses...)
		}
	}

	return put(s, k8s.NewEndpoint(k8s.ControlPlaneNamespaceName, k8s.ControlPlaneDiscoveredEndpointsID), func(r *k8s.Endpoint) {
		r.TypedSpec().Addresses = endpoints
	})
}
