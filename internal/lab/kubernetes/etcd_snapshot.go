package kubernetes

import (
	"context"
	"errors"
	"io"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/em-infra/em-infra/internal/poll"
)

// etcdPatience is how long a client waits for the connection to an etcd, as Talos' own (internal/pkg/etcd/etcd.go, NewClient).
const etcdPatience = 5 * time.Second

// EtcdSnapshot implements [talos.Kubernetes]. The data is that of the one etcd of the cluster, no matter which member is asked.
func (c *Clusters) EtcdSnapshot(ctx context.Context, etcdCluster string) (io.ReadCloser, error) {
	etcd, _, err := c.etcdClient(ctx, etcdCluster)
	if err != nil {
		return nil, err
	}
	stream, err := etcd.Snapshot(ctx)
	if err != nil {
		return nil, errors.Join(err, etcd.Close())
	}
	return &snapshotStream{ReadCloser: stream, etcd: etcd}, nil
}

// etcdClient returns a client of the one etcd of a cluster, and its endpoint. The nodes' members run before that etcd, which starts with
// their static pods. So etcdClient waits for it until the context ends.
func (c *Clusters) etcdClient(ctx context.Context, etcdCluster string) (client *clientv3.Client, endpoint string, err error) {
	err = poll.Until(ctx, readyInterval, func(ctx context.Context) (bool, error) {
		plane := c.plane(etcdCluster)
		if plane == nil || !plane.etcdAnswers.Load() {
			return false, nil
		}
		client, endpoint, err = plane.etcdClient(ctx)
		return true, err
	})
	return client, endpoint, err
}

// plane returns the control plane of a cluster that runs or starts; nil for none.
func (c *Clusters) plane(etcdCluster string) *controlPlane {
	c.mu.Lock()
	cluster := c.clusters[etcdCluster]
	c.mu.Unlock()
	if cluster == nil {
		return nil
	}
	return cluster.plane.Load()
}

func (p *controlPlane) etcdClient(ctx context.Context) (client *clientv3.Client, endpoint string, err error) {
	tls, err := transport.TLSInfo{
		CertFile: p.folder.secret("etcd-client.crt"), KeyFile: p.folder.secret("etcd-client.key"), TrustedCAFile: p.folder.secret("etcd-ca.crt"),
	}.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	endpoint = local(p.ports.etcdClient).String()
	client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: tls, DialTimeout: etcdPatience, Context: ctx, Logger: zap.NewNop(),
	})
	return client, endpoint, err
}

// snapshotStream is a snapshot that closes its client when it is closed.
type snapshotStream struct {
	io.ReadCloser
	etcd *clientv3.Client
}

func (s *snapshotStream) Close() error { return errors.Join(s.ReadCloser.Close(), s.etcd.Close()) }
