package kubernetesupgrade_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/versions"
)

// TestObjectsOfRemovedAPIs checks which objects stop an upgrade: those that were written in a version that ends, with their writer, and those of a
// kind that ends altogether. v1.37 removes both (k8s.io/api v0.35.0, APILifecycleRemoved).
func TestObjectsOfRemovedAPIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	c := newCluster(t, "v1.13.9", "1.35.4", 1, 0, nil, func(cfg *v1alpha1.Config) {
		cfg.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{
			"runtime-config": "storage.k8s.io/v1beta1=true,certificates.k8s.io/v1alpha1=true", "feature-gates": "ClusterTrustBundle=true",
		}
	})
	api := c.kubernetes()
	upgrade := c.upgrade("v1.37.0")
	from, err := versions.Parse("v1.36.2")
	require.NoError(t, err)
	require.NoError(t, upgrade.RemovedObjects(t.Context(), from), "what the API server has written itself is not in the way")

	_, err = api.StorageV1().VolumeAttributesClasses().Create(t.Context(), &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "silver"}, DriverName: "csi.example", Parameters: map[string]string{"iops": "1000"},
	}, metav1.CreateOptions{FieldManager: "tofu"})
	require.NoError(t, err)
	_, err = api.StorageV1beta1().VolumeAttributesClasses().Create(t.Context(), &storagev1beta1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "csi.example", Parameters: map[string]string{"iops": "9000"},
	}, metav1.CreateOptions{FieldManager: "flux"})
	require.NoError(t, err)
	_, err = api.CertificatesV1alpha1().ClusterTrustBundles().Create(t.Context(), &certificatesv1alpha1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: "house"}, Spec: certificatesv1alpha1.ClusterTrustBundleSpec{TrustBundle: string(c.administrator().CAData)},
	}, metav1.CreateOptions{FieldManager: "kubectl-create"})
	require.NoError(t, err)
	require.EqualError(t, upgrade.RemovedObjects(t.Context(), from), "ClusterTrustBundle house exists, and v1.37 no longer serves ClusterTrustBundle in any version: save it and delete it, then run up again\n"+
		"VolumeAttributesClass gold was written by flux in storage.k8s.io/v1beta1, which v1.37 no longer serves: write it in storage.k8s.io/v1 from now on, then run up again")

	to, err := versions.Parse("v1.36.3")
	require.NoError(t, err)
	upgrade.To = to
	require.NoError(t, upgrade.RemovedObjects(t.Context(), from), "they end with v1.37")
}
