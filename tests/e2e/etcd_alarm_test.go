package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestE2EEtcdIsOutOfSpace: while it has its alarm, the real etcd behind the lab takes no writes, status reports that, and one command ends it. The
// size of the database is emulated: the real one has no gigabytes to free.
func TestE2EEtcdIsOutOfSpace(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	write := func(name string) error {
		_, err := r.kubernetes().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	require.NoError(t, write("before"))
	r.mustRun(0, "lab", "fault", "set", "etcd-out-of-space", "--vm", "k3s-dev-control-1", "--times", "1")
	require.Contains(t, r.mustRun(1, "status", "--lab"),
		"k3s-dev-control-1 (etcd has reached the quota of its database and takes no writes: `em-infra etcd defragment --stack "+r.stack)
	require.ErrorContains(t, write("during"), "database space exceeded")
	require.Contains(t, r.mustRun(1, "etcd", "disarm", "--lab"), "etcd raises the alarm NOSPACE again, because its database is still as large as its quota")
	require.ErrorContains(t, write("during"), "database space exceeded")

	require.Equal(t, "k3s-dev-control-1: 2097152 KiB → 24576 KiB, of which 24576 KiB are in use\netcd has no alarm and takes writes\n", r.mustRun(0, "etcd", "defragment", "--lab"))
	require.NoError(t, write("after"))
	r.eventually("Kubernetes goes on", func() bool { return r.run("status", "--lab").code == 0 })
	require.Contains(t, r.mustRun(0, "etcd", "disarm", "--lab"), "etcd has no alarm")
}
