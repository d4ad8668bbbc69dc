package kubernetes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/poll"
)

// etcdAlarms are the alarms that the etcds of the clusters are to have.
type etcdAlarms struct {
	mu    sync.Mutex
	kinds map[string][]etcd.AlarmKind // by the ID of the etcd
}

// SetEtcdAlarms implements [talos.Kubernetes]. The one etcd of the cluster has each alarm once, no matter which member raised it, and
// refuses writes or all requests by itself. An etcd that is still starting gets the alarms when it answers.
func (c *Clusters) SetEtcdAlarms(ctx context.Context, etcdCluster string, kinds []etcd.AlarmKind) error {
	c.alarms.mu.Lock()
	defer c.alarms.mu.Unlock()
	c.alarms.kinds[etcdCluster] = slices.Clone(kinds)
	plane := c.plane(etcdCluster)
	if plane == nil || !plane.etcdAnswers.Load() {
		return nil
	}
	return plane.setEtcdAlarms(ctx, kinds)
}

// watchEtcd waits until the etcd of a control plane answers, and gives it the alarms that were raised before.
func (c *Clusters) watchEtcd(ctx context.Context, etcdCluster string, plane *controlPlane) {
	_ = poll.Until(ctx, readyInterval, func(ctx context.Context) (bool, error) { // it ends with the control plane
		select {
		case <-plane.prepared:
			return c.giveEtcdAlarms(ctx, etcdCluster, plane) == nil, nil
		default:
			return false, nil
		}
	})
}

func (c *Clusters) giveEtcdAlarms(ctx context.Context, etcdCluster string, plane *controlPlane) error {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	if err := plane.askEtcd(ctx); err != nil {
		return err
	}
	c.alarms.mu.Lock()
	defer c.alarms.mu.Unlock()
	if kinds, raised := c.alarms.kinds[etcdCluster]; raised {
		if err := plane.setEtcdAlarms(ctx, kinds); err != nil {
			return err
		}
	}
	plane.etcdAnswers.Store(true)
	return nil
}

// forgetAlarms is called for an etcd that is gone.
func (c *Clusters) forgetAlarms(etcdCluster string) {
	c.alarms.mu.Lock()
	defer c.alarms.mu.Unlock()
	delete(c.alarms.kinds, etcdCluster)
}

// askEtcd returns an error while etcd does not answer.
func (p *controlPlane) askEtcd(ctx context.Context) (err error) {
	client, endpoint, err := p.etcdClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = client.Status(ctx, endpoint)
	return err
}

// setEtcdAlarms gives etcd these alarms and removes all others.
func (p *controlPlane) setEtcdAlarms(ctx context.Context, kinds []etcd.AlarmKind) (err error) {
	client, _, err := p.etcdClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	call, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	listed, err := client.AlarmList(call)
	if err != nil {
		return err
	}
	for _, raised := range listed.Alarms {
		if !slices.Contains(kinds, etcd.AlarmKind(raised.Alarm.String())) {
			if _, err := client.AlarmDisarm(call, (*clientv3.AlarmMember)(raised)); err != nil {
				return err
			}
		}
	}
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		_, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(call, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: listed.Header.MemberId, Alarm: etcdserverpb.AlarmType(etcdserverpb.AlarmType_value[string(kind)]),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// DefragmentEtcd implements [talos.Kubernetes].
func (c *Clusters) DefragmentEtcd(ctx context.Context, etcdCluster string) (err error) {
	client, endpoint, err := c.etcdClient(ctx, etcdCluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = client.Defragment(ctx, endpoint)
	return err
}
