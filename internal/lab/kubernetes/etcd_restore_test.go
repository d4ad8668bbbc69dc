package kubernetes_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
)

// restoredCluster is the ID of the etcd that is made of a snapshot.
const restoredCluster = "fedcba9876543210"

// TestARestoreGoesBackInTime: what was written before the snapshot is there, what came later is not, and the revision goes on from that
// of the snapshot.
func TestARestoreGoesBackInTime(t *testing.T) {
	t.Parallel()
	site := newSite(t, ourSecrets)
	dir := t.TempDir()
	clusters := kubernetestest.OpenClusters(t, dir, kubernetestest.Tools(t))
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	node := site.node(101, machine.TypeControlPlane)
	clusters.NodeChanged(node)
	client := admin(t, node)
	client.eventually("the API answers", client.answers)

	write := func(name string) *corev1.ConfigMap {
		t.Helper()
		made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return made
	}
	write("before")
	snapshot := filepath.Join(dir, "snapshot")
	stream, err := clusters.EtcdSnapshot(t.Context(), etcdCluster)
	require.NoError(t, err)
	text, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	require.NoError(t, os.WriteFile(snapshot, text, 0o600))
	later := write("after")

	node.EtcdCluster = ""
	clusters.NodeChanged(node)
	clusters.ClusterGone(etcdCluster)
	require.EqualError(t, clusters.EtcdRestore(t.Context(), restoredCluster, filepath.Join(dir, "absent"), false), "open "+filepath.Join(dir, "absent")+": no such file or directory")
	require.NoError(t, clusters.EtcdRestore(t.Context(), restoredCluster, snapshot, false))
	node.EtcdCluster = restoredCluster
	clusters.NodeChanged(node)
	client = admin(t, node)
	client.eventually("the object from before the snapshot is back", func(ctx context.Context) bool {
		_, err := client.CoreV1().ConfigMaps("default").Get(ctx, "before", metav1.GetOptions{})
		return err == nil
	})
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "after", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NotEqual(t, later.UID, write("after").UID)

	database, err := clusters.EtcdDatabase(restoredCluster)
	require.NoError(t, err)
	require.NoError(t, database.Close())
}
