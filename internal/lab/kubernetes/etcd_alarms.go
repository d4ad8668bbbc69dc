package kubernetes

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// SetEtcdAlarms implements [talos.Kubernetes]. The one etcd of the cluster has each alarm once, whichever member raised it, and refuses
// writes or all requests by itself.
func (c *Clusters) SetEtcdAlarms(ctx context.Context, etcdCluster string, kinds []etcd.AlarmKind) (err error) {
	client, _, err := c.etcdClient(ctx, etcdCluster)
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
