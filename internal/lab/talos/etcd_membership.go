package talos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// errEtcdData is returned for a node that is already a member.
var errEtcdData = errors.New("etcd data directory is not empty")

// bootstrapEtcd creates an etcd cluster with this node as its only member.
func (s *system) bootstrapEtcd(cfg config.Provider) error {
	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	_, err = s.claimEtcd(func() (etcd.Data, error) {
		s.etcd.born = true

		return s.fleet.etcd.Bootstrap(n.hostname, s.etcdAddress(cfg, n)), nil
	})
	if err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.etcd.stop != nil {
		close(s.etcd.bootstrapped)
	}

	return nil
}

// claimEtcd fills an empty data directory with the membership that obtain returns. A bootstrap and an attempt to join may
// happen at the same time.
func (s *system) claimEtcd(obtain func() (etcd.Data, error)) (etcd.Data, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.disk == nil || !s.disk.read().Etcd.Empty() {
		return etcd.Data{}, errEtcdData
	}

	data, err := obtain()
	if err != nil {
		return etcd.Data{}, err
	}

	// a member without data can be removed, but data without a member is useless
	return data, errors.Join(s.fleet.saveEtcd(), s.disk.change(func(c *contents) { c.Etcd = data }))
}

// etcdMembership waits for a membership in the data directory and returns it: from an earlier boot, from a bootstrap, or from
// joining another control plane's cluster.
func (s *system) etcdMembership(
	ctx context.Context, cfg config.Provider, bootstrapped <-chan struct{},
) (data etcd.Data, joined bool, err error) {
	for {
		if data := s.etcdData(); !data.Empty() {
			return data, false, s.startWithData(ctx)
		}

		changed := s.fleet.etcd.Changed()
		_, discovered := s.controlPlanes(cfg)

		data, err := s.joinEtcd(cfg)

		switch {
		case err == nil:
			return data, true, s.vm.step(ctx, StepEtcdStart, s.fleet.config.Durations.EtcdJoin)
		case errors.Is(err, errEtcdData):
			continue
		case !errors.Is(err, errCannotJoin):
			return etcd.Data{}, false, err
		}

		select {
		case <-bootstrapped:
		case <-changed:
		case <-discovered:
		case <-ctx.Done():
			return etcd.Data{}, false, ctx.Err()
		}
	}
}

// startWithData starts a member that has its data. Only the first start after a bootstrap takes time.
func (s *system) startWithData(ctx context.Context) error {
	s.mu.Lock()
	born := s.etcd.born
	s.etcd.born = false
	s.mu.Unlock()

	var takes time.Duration
	if born {
		takes = s.fleet.config.Durations.EtcdBootstrap
	}

	return s.vm.step(ctx, StepEtcdStart, takes)
}

// errCannotJoin means that no cluster accepts the node now. It retries when something changes.
var errCannotJoin = errors.New("no etcd cluster to join")

// joinEtcd makes the node a learner in the cluster of the first control plane that accepts it.
func (s *system) joinEtcd(cfg config.Provider) (etcd.Data, error) {
	n, err := s.network(cfg)
	if err != nil {
		return etcd.Data{}, err
	}

	endpoints, _ := s.controlPlanes(cfg)

	for _, endpoint := range endpoints {
		other := s.fleet.systemAt(endpoint)
		if other == nil || other == s || !s.sameEtcd(cfg, other) {
			continue
		}

		cluster := other.etcdData().Cluster

		data, err := s.claimEtcd(func() (etcd.Data, error) {
			data, err := s.fleet.etcd.AddLearner(cluster, n.hostname, s.etcdAddress(cfg, n))
			if err != nil {
				err = fmt.Errorf("%w: %w", errCannotJoin, err)
			}

			return data, err
		})
		if !errors.Is(err, errCannotJoin) {
			return data, err
		}
	}

	return etcd.Data{}, errCannotJoin
}

// sameEtcd reports whether the other node's etcd accepts this node: both have certificates of the same authority.
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

// etcdAddress returns the address that the member advertises: the first one in the advertised subnets, or the node's first.
func (s *system) etcdAddress(cfg config.Provider, n nodeNetwork) netip.Addr {
	for _, text := range cfg.Cluster().Etcd().AdvertisedSubnets() {
		subnet, err := netip.ParsePrefix(text)
		if err != nil {
			continue // an exclusion, or a value that validation does not check
		}

		for _, addr := range n.ips() {
			if subnet.Contains(addr) {
				return addr
			}
		}
	}

	return n.ips()[0]
}
