package components_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	tokenNamespace    = "kubernetes:core/v1:Namespace"
	tokenConfigMap    = "kubernetes:core/v1:ConfigMap"
	tokenStorageClass = "kubernetes:storage.k8s.io/v1:StorageClass"
)

// csiFixture returns what truenas-csi needs, with every field set.
func csiFixture() *components.TrueNASCSI {
	driver := chart("oci://registry.example/charts")
	return &components.TrueNASCSI{
		URL: "wss://nas.example/api/current", SkipVerify: true, Pool: "tank", NFSServer: "nas.example", ISCSIPortal: "192.168.20.5:3260",
		IQNBase: "iqn.2005-10.org.freenas.ctl",
		Classes: []components.StorageClass{
			{
				Name: "truenas-nfs", Protocol: "nfs", Default: true, ReclaimPolicy: "Retain", Compression: "ZSTD",
				Networks:   []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24"), netip.MustParsePrefix("fd00:20::/64")},
				Parameters: map[string]string{"nfs.mountOptions": "hard,nfsvers=4.2"},
			},
			{
				Name: "truenas-iscsi", Protocol: "iscsi", ReclaimPolicy: "Delete",
				Initiators: []string{"iqn.2024-01.com.example:worker-1", "iqn.2024-01.com.example:worker-2"},
			},
		},
		Chart: &driver,
	}
}

// TestTheCSIDriverFindsWhatItReads, in the names that its manifest has.
func TestTheCSIDriverFindsWhatItReads(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"name": "truenas-csi", "labels": map[string]any{"pod-security.kubernetes.io/enforce": "privileged"},
	}, r.Named(t, tokenNamespace, "k3s-dev-addons-namespace-truenas-csi").Inputs["metadata"].Mappable())
	config := r.Named(t, tokenConfigMap, "k3s-dev-addons-configmap-truenas-csi-config").Inputs
	require.Equal(t, map[string]any{"name": "truenas-csi-config", "namespace": "truenas-csi"}, config["metadata"].Mappable())
	require.Equal(t, map[string]any{
		"truenasURL": "wss://nas.example/api/current", "truenasInsecure": "true", "defaultPool": "tank", "nfsServer": "nas.example",
		"iscsiPortal": "192.168.20.5:3260", "iscsiIQNBase": "iqn.2005-10.org.freenas.ctl",
	}, config["data"].Mappable())
	release := r.Named(t, tokenRelease, "k3s-dev-addons-truenas-csi")
	require.Equal(t, "oci://registry.example/charts/truenas-csi", release.Inputs["chart"].StringValue())
	require.Equal(t, "truenas-csi", release.Inputs["namespace"].StringValue())
	require.Subset(t, recorder.ShortURNs(release.RegisterRPC.GetDependencies()), []string{
		"k3s-dev-addons-namespace-truenas-csi", "k3s-dev-addons-secret-truenas-api-credentials", "k3s-dev-addons-configmap-truenas-csi-config",
		"k3s-dev-addons-storageclass-truenas-nfs", "k3s-dev-addons-storageclass-truenas-iscsi",
	})
}

func TestStorageClasses(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	class := func(name, isDefault, policy string, parameters map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "csi.truenas.io", "reclaimPolicy": policy,
			"volumeBindingMode": "Immediate", "allowVolumeExpansion": true, "parameters": parameters,
			"metadata": map[string]any{"name": name, "annotations": map[string]any{"storageclass.kubernetes.io/is-default-class": isDefault}},
		}
	}
	nfs := r.Named(t, tokenStorageClass, "k3s-dev-addons-storageclass-truenas-nfs")
	require.Equal(t, class("truenas-nfs", "true", "Retain", map[string]any{
		"protocol": "nfs", "compression": "ZSTD", "nfs.networks": "192.168.20.0/24,fd00:20::/64", "nfs.mountOptions": "hard,nfsvers=4.2",
	}), nfs.Inputs.Mappable())
	require.Equal(t, class("truenas-iscsi", "false", "Delete", map[string]any{
		"protocol": "iscsi", "iscsi.initiators": "iqn.2024-01.com.example:worker-1,iqn.2024-01.com.example:worker-2",
	}),
		r.Named(t, tokenStorageClass, "k3s-dev-addons-storageclass-truenas-iscsi").Inputs.Mappable())
}

// TestWithoutAChartTheDriverIsInstalledElsewhere, and both Secrets may be in its namespace, which is privileged all the same.
func TestWithoutAChartTheDriverIsInstalledElsewhere(t *testing.T) {
	t.Parallel()
	csi := csiFixture()
	csi.Chart, csi.ISCSIPortal, csi.SkipVerify = nil, "", false
	r, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{
		TrueNAS: &components.TrueNAS{Host: "nas.example", APIKey: pulumi.String("made-up"), Namespace: "truenas-csi", CSI: csi},
	})))
	require.NoError(t, err)
	require.Empty(t, r.Names(tokenRelease))
	require.Equal(t, []string{" k3s-dev-addons-namespace-truenas-csi"}, r.Names(tokenNamespace))
	require.Contains(t, r.Named(t, tokenNamespace, "k3s-dev-addons-namespace-truenas-csi").Inputs["metadata"].Mappable(), "labels")
	config := r.Named(t, tokenConfigMap, "k3s-dev-addons-configmap-truenas-csi-config").Inputs["data"].ObjectValue()
	require.Empty(t, config["iscsiPortal"].StringValue())
	require.Equal(t, "false", config["truenasInsecure"].StringValue())
}

// TestTheCSIDriverWaitsForTheNodes, as every release does that runs pods: its chart would time out without a cause. Without a chart there is
// nothing to wait for.
func TestTheCSIDriverWaitsForTheNodes(t *testing.T) {
	t.Parallel()
	const gate = "k3s-dev-addons-nodes"
	for _, installs := range []bool{true, false} {
		storage := everyAddon().TrueNAS
		if !installs {
			storage.CSI.Chart = nil
		}
		r, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{TrueNAS: storage})))
		require.NoError(t, err)
		require.Equal(t, installs, slices.Contains(r.Names(tokenCommand), " "+gate))
		if installs {
			require.Contains(t, recorder.ShortURNs(r.Named(t, tokenRelease, "k3s-dev-addons-truenas-csi").RegisterRPC.GetDependencies()), gate)
		}
	}
}
