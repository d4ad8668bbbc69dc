package e2e_test

import (
	"context"
	"io"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/truenas"
)

const storageOfTheTest = `storage:
  endpoint: https://nas.example
  pool: tank
  datasets:
    - {name: k8s, quotaGiB: 500, compression: ZSTD}
    - {name: k8s/nfs, nfs: {}}
  iscsi: {}
addons:
  truenas:
    host: nas.example
    namespace: storage
    csi:
      storageClasses:
        - {name: truenas-nfs, protocol: nfs, default: true}
        - {name: truenas-iscsi, protocol: iscsi, compression: ZSTD}
`

// TestE2EStorage is the life of a cluster with its storage on a TrueNAS box: made before the machines, compared with what is on the
// box, mended, held up by what happens to a NAS, and left there by a destroy unless the inventory says otherwise.
func TestE2EStorage(t *testing.T) {
	t.Parallel()
	s := &storageUnderTest{rehearsal: newRehearsal(t, "e2e-storage")}
	s.edit("cluster.yaml", "extensions: []", "extensions: [siderolabs/iscsi-tools]")
	s.writeInventory("cluster.yaml", s.inventoryText("cluster.yaml")+storageOfTheTest)

	s.comesBeforeTheMachines()
	s.isComparedAndMended()
	s.outlastsBadDays()
	s.staysUnlessTheInventorySaysOtherwise()
}

// storageUnderTest is a rehearsal whose inventory has storage.
type storageUnderTest struct{ *rehearsal }

// comesBeforeTheMachines: a box that does not let em-infra in refuses the run before anything is touched; then all is made, once.
func (s *storageUnderTest) comesBeforeTheMachines() {
	s.mustRun(0, "lab", "start")
	s.mustRun(0, "lab", "fault", "set", "nas-key-expired")
	for _, command := range [][]string{{"up", "--lab", "--yes"}, {"preflight", "--lab"}} {
		output := s.mustRun(3, command...)
		require.Contains(s.t, output, "FAIL  the API key of em-infra has expired, or TrueNAS has revoked it\n       → make another in Credentials > Users > API Keys\n")
		require.NotContains(s.t, output, s.keyOfTheLab())
	}
	require.Empty(s.t, writes(s.calls()), "nothing is touched without the storage")
	s.mustRun(0, "lab", "fault", "clear", "nas-key-expired")

	s.box(func(ctx context.Context, c *truenas.Client) error {
		return c.WriteDataset(ctx, truenas.Dataset{Name: "tank/k8s", ShareType: "GENERIC", Owner: "office/office"}, nil)
	})
	output := s.mustRun(0, "preflight", "--lab")
	require.Contains(s.t, output, "warn  dataset tank/k8s on TrueNAS belongs to office/office: up would change it to what cluster.yaml says\n")
	s.box(func(ctx context.Context, c *truenas.Client) error {
		_, err := c.RemoveDataset(ctx, truenas.Dataset{Name: "tank/k8s", Owner: "office/office"})
		return err
	})
	require.Contains(s.t, s.mustRun(0, "preflight", "--lab"), "ok    2 datasets: 2 to create, 0 ours\n")

	s.mustRun(0, "up", "--lab", "--yes")
	require.Equal(s.t, &truenas.Dataset{
		Name: "tank/k8s", Quota: 500 << 30, Compression: "ZSTD", ShareType: "GENERIC", Owner: s.owner(),
	}, s.dataset("tank/k8s"))
	require.NotNil(s.t, s.share())
	s.box(func(ctx context.Context, c *truenas.Client) error {
		for _, name := range []string{"nfs", "iscsitarget"} {
			service, err := c.FindService(ctx, truenas.Service{Name: name})
			require.NoError(s.t, err)
			require.Equal(s.t, &truenas.Service{Name: name, Enabled: true, Running: true}, service)
		}
		return nil
	})
	s.opensTheBox(s.apiKey())
	s.hasWhatTheDriverReads()
	s.nothingChanges()
	require.Contains(s.t, s.mustRun(0, "preflight", "--lab"), "ok    2 datasets: 0 to create, 2 ours\n")
}

// isComparedAndMended changes the box by hand: each change is shown, by value and by where it is set, and the next up reverts it.
func (s *storageUnderTest) isComparedAndMended() {
	key := s.apiKey()
	s.box(func(ctx context.Context, c *truenas.Client) error {
		share := s.share()
		share.Networks = []string{"0.0.0.0/0"}
		require.NoError(s.t, c.WriteShare(ctx, *share, s.share()))
		require.NoError(s.t, c.Call(ctx, nil, "pool.dataset.update", "tank/k8s", map[string]any{"quota": 1 << 30}))
		require.NoError(s.t, c.Call(ctx, nil, "pool.dataset.update", "tank/k8s/nfs", map[string]any{"compression": "LZ4"}))
		_, err := c.RemoveAccount(ctx, truenas.Account{Name: "csi-k3s-dev", Owner: s.owner()})
		return err
	})
	s.driverIsMisled()
	output := s.mustRun(2, "preview", "--lab")
	for _, seen := range []string{"k8s", "quota", "compression", "networks", "csi", "truenas-csi-config", "truenas-nfs"} {
		require.Contains(s.t, output, seen)
	}
	s.mustRun(0, "up", "--lab", "--yes")
	require.EqualValues(s.t, 500<<30, s.dataset("tank/k8s").Quota)
	require.Empty(s.t, s.dataset("tank/k8s/nfs").Compression)
	require.NotEqual(s.t, []string{"0.0.0.0/0"}, s.share().Networks)
	require.NotEqual(s.t, key, s.apiKey(), "a key that is gone is made again")
	s.opensTheBox(s.apiKey())
	s.hasWhatTheDriverReads()
	s.nothingChanges()
}

// hasWhatTheDriverReads checks the namespace, the ConfigMap, the Secret and the classes of the CSI driver.
func (s *storageUnderTest) hasWhatTheDriverReads() {
	s.t.Helper()
	client := s.kubernetes()
	namespace, err := client.CoreV1().Namespaces().Get(s.t.Context(), "truenas-csi", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, "privileged", namespace.Labels["pod-security.kubernetes.io/enforce"])
	config, err := client.CoreV1().ConfigMaps("truenas-csi").Get(s.t.Context(), "truenas-csi-config", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, map[string]string{
		"truenasURL": "wss://nas.example/api/current", "truenasInsecure": "false", "defaultPool": "tank", "nfsServer": "nas.example",
		"iscsiPortal": "nas.example:3260", "iscsiIQNBase": "iqn.2005-10.org.freenas.ctl",
	}, config.Data)
	secret, err := client.CoreV1().Secrets("truenas-csi").Get(s.t.Context(), "truenas-api-credentials", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, map[string][]byte{"api-key": []byte(s.apiKey())}, secret.Data)
	nfs, err := client.StorageV1().StorageClasses().Get(s.t.Context(), "truenas-nfs", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, "csi.truenas.io", nfs.Provisioner)
	require.Equal(s.t, "true", nfs.Annotations["storageclass.kubernetes.io/is-default-class"])
	require.Equal(s.t, corev1.PersistentVolumeReclaimRetain, *nfs.ReclaimPolicy)
	require.Equal(s.t, "nfs", nfs.Parameters["protocol"])
	require.NotEmpty(s.t, nfs.Parameters["nfs.networks"], "not everybody may mount the volumes")
	iscsi, err := client.StorageV1().StorageClasses().Get(s.t.Context(), "truenas-iscsi", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, map[string]string{"protocol": "iscsi", "compression": "ZSTD"}, iscsi.Parameters)
}

// driverIsMisled changes by hand where the driver looks, and which class is the default.
func (s *storageUnderTest) driverIsMisled() {
	s.t.Helper()
	client := s.kubernetes()
	config, err := client.CoreV1().ConfigMaps("truenas-csi").Get(s.t.Context(), "truenas-csi-config", metav1.GetOptions{})
	require.NoError(s.t, err)
	config.Data["defaultPool"] = "boot"
	_, err = client.CoreV1().ConfigMaps("truenas-csi").Update(s.t.Context(), config, metav1.UpdateOptions{})
	require.NoError(s.t, err)
	nfs, err := client.StorageV1().StorageClasses().Get(s.t.Context(), "truenas-nfs", metav1.GetOptions{})
	require.NoError(s.t, err)
	nfs.Annotations["storageclass.kubernetes.io/is-default-class"] = "false"
	_, err = client.StorageV1().StorageClasses().Update(s.t.Context(), nfs, metav1.UpdateOptions{})
	require.NoError(s.t, err)
}

// outlastsBadDays: the failures of a NAS are reported with what to do, and the next up goes on from there.
func (s *storageUnderTest) outlastsBadDays() {
	s.edit("cluster.yaml", "quotaGiB: 500", "quotaGiB: 600")
	s.mustRun(0, "lab", "fault", "set", "nas-connection-cut", "--endpoint", "pool.dataset.update", "--times", "1")
	s.mustRun(0, "up", "--lab", "--yes") // what the box has done is looked up on a new connection
	require.EqualValues(s.t, 600<<30, s.dataset("tank/k8s").Quota)

	s.edit("cluster.yaml", "    - {name: k8s/nfs, nfs: {}}\n", "    - {name: k8s/nfs, nfs: {}}\n    - {name: k8s/models}\n")
	s.mustRun(0, "lab", "fault", "set", "nas-pool-full")
	require.Contains(s.t, s.mustRun(1, "up", "--lab", "--yes"), "the pool tank has no room left: free some, or add disks to it")
	s.mustRun(0, "lab", "fault", "clear", "nas-pool-full")
	s.mustRun(0, "up", "--lab", "--yes")
	require.NotNil(s.t, s.dataset("tank/k8s/models"))
	s.nothingChanges()
}

// staysUnlessTheInventorySaysOtherwise: what leaves the inventory stays on the box while it is protected; then the empty datasets of the
// stack go with it, and so does the account.
func (s *storageUnderTest) staysUnlessTheInventorySaysOtherwise() {
	s.edit("cluster.yaml", "    - {name: k8s/models}\n", "")
	s.mustRun(0, "up", "--lab", "--yes")
	require.NotNil(s.t, s.dataset("tank/k8s/models"), "data are not deleted by an edit")

	s.edit("cluster.yaml", "  pool: tank\n", "  pool: tank\n  protect: false\n")
	s.mustRun(0, "up", "--lab", "--yes")
	output := s.mustRun(0, "destroy", "--lab", "--yes")
	require.Contains(s.t, output, "tank/k8s stays on TrueNAS, since it holds other datasets")
	require.Nil(s.t, s.dataset("tank/k8s/nfs"))
	require.NotNil(s.t, s.dataset("tank/k8s"))
	require.NotNil(s.t, s.dataset("tank/k8s/models"))
	s.hasNoAccount()
}

// hasNoAccount checks that the account is gone: a key of the CSI driver would open the data to every user who has it.
func (s *storageUnderTest) hasNoAccount() {
	s.t.Helper()
	s.box(func(ctx context.Context, c *truenas.Client) error {
		account, err := c.FindAccount(ctx, truenas.Account{Name: "csi-k3s-dev"})
		require.Nil(s.t, account)
		return err
	})
}

func (s *storageUnderTest) owner() string { return s.stack + "/k3s-dev" }

// nothingChanges: a preview is empty, that of em-infra and a plain one.
func (s *storageUnderTest) nothingChanges() {
	s.t.Helper()
	s.mustRun(0, "preview", "--lab")
	stack := s.plainEngine()
	_, err := stack.Preview(s.t.Context(), optpreview.Refresh(), optpreview.ExpectNoChanges(), optpreview.ProgressStreams(io.Discard))
	require.NoError(s.t, err)
}

// box calls the box with the key of the lab.
func (s *storageUnderTest) box(do func(context.Context, *truenas.Client) error) {
	s.t.Helper()
	d, err := lab.ReadDescription(s.labDir())
	require.NoError(s.t, err)
	require.NoError(s.t, s.connection("em-infra", d.NASKey).Do(s.t.Context(), do))
}

// keyOfTheLab returns the API key of em-infra in the rehearsal.
func (s *storageUnderTest) keyOfTheLab() string {
	s.t.Helper()
	d, err := lab.ReadDescription(s.labDir())
	require.NoError(s.t, err)
	require.NotEmpty(s.t, d.NASKey)
	return d.NASKey
}

func (s *storageUnderTest) connection(user, key string) truenas.Connection {
	s.t.Helper()
	d, err := lab.ReadDescription(s.labDir())
	require.NoError(s.t, err)
	fingerprint, err := lab.NASFingerprint(s.labDir(), d)
	require.NoError(s.t, err)
	return truenas.Connection{Endpoint: d.NASEndpoint(), Fingerprint: fingerprint, Username: user, APIKey: key}
}

// dataset returns a dataset of the box; nil if there is none.
func (s *storageUnderTest) dataset(name string) (found *truenas.Dataset) {
	s.t.Helper()
	s.box(func(ctx context.Context, c *truenas.Client) (err error) {
		found, err = c.FindDataset(ctx, truenas.Dataset{Name: name, ShareType: "GENERIC", Owner: s.owner()})
		return err
	})
	return found
}

// share returns the share of k8s/nfs; nil if there is none.
func (s *storageUnderTest) share() (found *truenas.Share) {
	s.t.Helper()
	s.box(func(ctx context.Context, c *truenas.Client) (err error) {
		found, err = c.FindShare(ctx, truenas.Share{Path: "/mnt/tank/k8s/nfs", Owner: s.owner()})
		return err
	})
	return found
}

// apiKey returns the key that the cluster has.
func (s *storageUnderTest) apiKey() string {
	s.t.Helper()
	secret, err := s.kubernetes().CoreV1().Secrets("storage").Get(s.t.Context(), "truenas-api", metav1.GetOptions{})
	require.NoError(s.t, err)
	return string(secret.Data["apiKey"])
}

// opensTheBox checks that the cluster's key is that of an account which may do what a CSI driver does, and nothing else.
func (s *storageUnderTest) opensTheBox(key string) {
	s.t.Helper()
	require.NoError(s.t, s.connection("csi-k3s-dev", key).Do(s.t.Context(), func(ctx context.Context, c *truenas.Client) error {
		found, err := c.FindDataset(ctx, truenas.Dataset{Name: "tank/k8s"})
		require.NoError(s.t, err)
		require.NotNil(s.t, found)
		var room []struct{ Name string }
		require.NoError(s.t, c.Call(ctx, &room, "zfs.resource.query", map[string]any{"paths": []string{"tank"}, "properties": []string{"available"}}))
		require.Len(s.t, room, 1, "the driver asks for the free room of its pool")
		_, err = c.WriteAccount(ctx, truenas.Account{Name: "intruder", Roles: []string{"FULL_ADMIN"}}, false)
		require.ErrorContains(s.t, err, "Not authorized")
		return nil
	}))
}
