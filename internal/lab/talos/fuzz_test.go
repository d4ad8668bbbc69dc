package talos_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// minimalWorker returns a configuration without any optional field.
func (c *cluster) minimalWorker() []byte {
	return []byte("version: v1alpha1\nmachine:\n  type: worker\n  token: " + c.bundle.TrustdInfo.Token +
		"\n  ca: {crt: " + base64.StdEncoding.EncodeToString(c.bundle.Certs.OS.Crt) + "}\n  install: {disk: /dev/sda}\n" +
		"cluster:\n  controlPlane: {endpoint: 'https://" + c.lab.address(101).String() + ":6443'}\n")
}

// TestMinimalWorker runs without discovery, with the endpoint of its configuration only.
func TestMinimalWorker(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.minimalWorker())
	l.waitStage(102, talos.StageRunning)
	c.waitAPI(102)
}

// TestMinimalControlPlane has no certificates but those of the Talos API.
func TestMinimalControlPlane(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")
	encode := base64.StdEncoding.EncodeToString

	l.install(101, []byte("version: v1alpha1\nmachine:\n  type: controlplane\n  install: {disk: /dev/sda}\n  ca: {crt: "+
		encode(c.bundle.Certs.OS.Crt)+", key: "+encode(c.bundle.Certs.OS.Key)+"}\n"+
		"cluster:\n  controlPlane: {endpoint: 'https://"+l.address(101).String()+":6443'}\n"))
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)
	c.waitHealthy(101, "etcd")
}

// FuzzApplyConfiguration: the node answers any input with an error, without a crash, and continues.
func FuzzApplyConfiguration(f *testing.F) {
	l := newLab(f)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	c := l.cluster("k3s-dev")
	for _, seed := range [][]byte{
		nil, []byte("\x00"), []byte("---\n---\n"), []byte("machine: {type: worker, network: {interfaces: [{addresses: [x]}]}}"),
		c.worker(), c.controlPlane(), c.minimalWorker(),
		[]byte("version: v1alpha1\nmachine: {type: controlplane}\ncluster: {controlPlane: {endpoint: 'https://x'}}"),
		[]byte("apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 300.1.1.1/99}]\n"),
	} {
		f.Add(seed)
	}

	insecure := l.insecure(101)

	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		_, err := insecure.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: data, DryRun: true})
		require.NotEqual(t, codes.Internal, status.Code(err), "%v", err)
		require.NotEqual(t, codes.Unavailable, status.Code(err), "%v", err)
		require.NotEqual(t, codes.DeadlineExceeded, status.Code(err), "%v", err)

		_, err = insecure.Disks(ctx)
		require.NoError(t, err)
	})
}
