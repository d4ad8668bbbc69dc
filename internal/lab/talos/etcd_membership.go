package talos

import (
	"bytes"
	"context"
	"errors"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// etcdMembership is the membership in the data directory, once there is one: from an earlier boot, from a bootstrap, or
// by joining the cluster of another control plane.
func (s *system) etcdMembership(
	ctx context.Context, cfg config.Provider, bootstrapped <-chan struct{},
) (data etcd.Data, joined bool, err error) {
	if data := s.etcdData(); !data.Empty() {
		return data, false, nil
	}

	for {
		changed := s.fleet.etcd.Changed()
		_, discovered := s.controlPlanes(cfg)

		if data, err := s.joinEtcd(cfg); err == nil {
			if err := s.vm.step(ctx, StepEtcdStart, s.fleet.config.Durations.EtcdJoin); err != nil {
				return etcd.Data{}, false, err
			}

			return data, true, nil
		} else if !errors.Is(err, errCannotJoin) {
			return etcd.Data{}, false, err
		}

		select {
		case <-bootstrapped:
			return s.etcdData(), false, s.vm.step(ctx, StepEtcdStart, s.fleet.config.Durations.EtcdBootstrap)
		case <-changed:
		case <-discovered:
		case <-ctx.Done():
			return etcd.Data{}, false, ctx.Err()
		}
	}
}

// errCannotJoin says that no cluster takes the node up now; it tries again when something changes.
var errCannotJoin = errors.New("no etcd cluster to join")

// joinEtcd makes the node a learner in the cluster of the first control plane whose etcd answers.
func (s *system) joinEtcd(cfg config.Provider) (etcd.Data, error) {
	endpoints, _ := s.controlPlanes(cfg)

	for _, endpoint := range endpoints {
		other := s.fleet.systemAt(endpoint)
		if other == nil || other == s || !s.sameEtcd(cfg, other) {
			continue
		}

		n, err := s.network(cfg)
		if err != nil {
			return etcd.Data{}, err
		}

		data, err := s.fleet.etcd.AddLearner(other.etcdData().Cluster, n.hostname, s.etcdAddress(cfg, n))
		if err == nil {
			return data, s.writeEtcd(data)
		}
	}

	return etcd.Data{}, errCannotJoin
}

// sameEtcd says whether the other node's etcd would let this one in: its certificates come from the same authority.
func (s *system) sameEtcd(cfg config.Provider, other *system) bool {
	theirs := other.config()

	return theirs != nil && theirs.Machine().Type().IsControlPlane() && !other.etcdData().Empty() &&
		bytes.Equal(etcdAuthority(theirs), etcdAuthority(cfg))
}

func etcdAuthority(cfg config.Provider) []byte {
	if ca := cfg.Cluster().Etcd().CA(); ca != nil {
		return ca.Crt
	}

	return nil
}

// etcdAddress is the address that the member advertises: the first one in the advertised subnets, or the node's first.
func (s *system) etcdAddress(cfg config.Provider, n nodeNetwork) netip.Addr {
	for _, text := range cfg.Cluster().Etcd().AdvertisedSubnets() {
		subnet, err := netip.ParsePrefix(text)
		if err != nil {
			continue // an exclusion, or what validation has let pass
		}

		for _, addr := range n.ips() {
			if subnet.Contains(addr) {
				return addr
			}
		}
	}

	return n.ips()[0]
}

// writeEtcd writes the data directory and the member list down.
func (s *system) writeEtcd(data etcd.Data) error {
	d := s.installed()
	if d == nil {
		return errors.New("talos is not installed")
	}

	// a member without data can be removed; data without a member could not be used
	return errors.Join(s.fleet.saveEtcd(), d.change(func(c *contents) { c.Etcd = data }))
}
