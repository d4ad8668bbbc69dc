package kubernetes

import (
	"context"
	"errors"
	"io"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdPatience is how long a client waits for the connection to an etcd, as Talos' own (internal/pkg/etcd/etcd.go, NewClient).
const etcdPatience = 5 * time.Second

var errNoControlPlane = errors.New("context deadline exceeded")

// EtcdSnapshot implements [talos.Kubernetes]. The data is that of the one etcd of the cluster, whichever member is asked.
func (c *Clusters) EtcdSnapshot(ctx context.Context, etcdCluster string) (io.ReadCloser, error) {
	c.mu.Lock()
	cluster := c.clusters[etcdCluster]
	c.mu.Unlock()
	if cluster == nil {
		return nil, errNoControlPlane
	}
	plane := cluster.plane.Load()
	if plane == nil {
		return nil, errNoControlPlane
	}
	return plane.snapshot(ctx)
}

// snapshot streams the contents of etcd.
func (p *controlPlane) snapshot(ctx context.Context) (io.ReadCloser, error) {
	tls, err := transport.TLSInfo{
		CertFile: p.folder.secret("etcd-client.crt"), KeyFile: p.folder.secret("etcd-client.key"), TrustedCAFile: p.folder.secret("etcd-ca.crt"),
	}.ClientConfig()
	if err != nil {
		return nil, err
	}
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: []string{local(p.ports.etcdClient).String()}, TLS: tls, DialTimeout: etcdPatience, Context: ctx, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	stream, err := etcd.Snapshot(ctx)
	if err != nil {
		return nil, errors.Join(err, etcd.Close())
	}
	return &snapshotStream{ReadCloser: stream, etcd: etcd}, nil
}

// snapshotStream closes its client with it.
type snapshotStream struct {
	io.ReadCloser
	etcd *clientv3.Client
}

func (s *snapshotStream) Close() error { return errors.Join(s.ReadCloser.Close(), s.etcd.Close()) }
