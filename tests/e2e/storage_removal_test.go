package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestE2EStorageThatIsAwayAndThatGoes: a StorageClass changes, a NAS is off, and things on it are deleted: nothing with data unless it is named. What
// is on a box that is gone for good is forgotten.
func TestE2EStorageThatIsAwayAndThatGoes(t *testing.T) {
	t.Parallel()
	extended(t)
	s := &storageUnderTest{rehearsal: newRehearsal(t, "e2e-storage-goes")}
	s.edit("cluster.yaml", "extensions: []", "extensions: [siderolabs/iscsi-tools]")
	s.writeInventory("cluster.yaml", s.inventoryText("cluster.yaml")+storageOfTheTest)
	s.mustRun(0, "up", "--lab", "--yes")

	s.classIsMadeAnew()
	s.isOff()
	s.dataAreDeletedByName()
	s.isGoneForGood()
}

// says runs a command and returns its output in one line.
func (s *storageUnderTest) says(code int, args ...string) string {
	s.t.Helper()
	return strings.Join(strings.Fields(s.mustRun(code, args...)), " ")
}

// classIsMadeAnew: Kubernetes refuses another compression of a class. The message says what to do, and doing it works.
func (s *storageUnderTest) classIsMadeAnew() {
	s.t.Helper()
	classes := s.kubernetes().StorageV1().StorageClasses()
	s.edit("cluster.yaml", "protocol: iscsi, compression: ZSTD", "protocol: iscsi, compression: LZ4")
	for _, command := range []string{"preview", "up"} {
		args := []string{command, "--lab"}
		if command == "up" {
			args = append(args, "--yes")
		}
		require.Contains(s.t, s.says(1, args...), "kubectl delete storageclass truenas-iscsi")
	}
	found, err := classes.Get(s.t.Context(), "truenas-iscsi", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, "ZSTD", found.Parameters["compression"])

	require.NoError(s.t, classes.Delete(s.t.Context(), "truenas-iscsi", metav1.DeleteOptions{}))
	s.mustRun(0, "up", "--lab", "--yes")
	found, err = classes.Get(s.t.Context(), "truenas-iscsi", metav1.GetOptions{})
	require.NoError(s.t, err)
	require.Equal(s.t, "LZ4", found.Parameters["compression"])
	s.nothingChanges()
}

// isOff: commands that do not need the NAS work without it, and the others are refused before anything is touched.
func (s *storageUnderTest) isOff() {
	s.t.Helper()
	s.mustRun(0, "lab", "fault", "set", "nas-off")
	const off = "TrueNAS does not answer at"
	seen := len(s.calls())
	for _, command := range [][]string{{"up", "--lab", "--yes"}, {"preview", "--lab"}, {"destroy", "--lab", "--yes"}} {
		require.Contains(s.t, s.says(3, command...), off, command)
	}
	require.Empty(s.t, writes(s.calls()[seen:]))
	s.mustRun(0, "status", "--lab")
	s.mustRun(0, "kubeconfig", "--lab")
	require.Contains(s.t, s.says(1, "drift", "--lab"), "what is on TrueNAS: "+off)

	s.edit("nodes.yaml", "    vmid: 102\n", "    vmid: 102\n    memoryMiB: 5120\n")
	require.Contains(s.t, s.says(0, "up", "--lab", "--yes", "--only-node", "k3s-dev-worker-1"), off)
	s.mustRun(0, "lab", "fault", "clear", "nas-off")
	s.nothingChanges()
}

// dataAreDeletedByName: a dataset with data that leaves the inventory stays without the variable. With it, one that is busy stops the run, and the next
// one deletes it with all that is in it.
func (s *storageUnderTest) dataAreDeletedByName() {
	s.t.Helper()
	const nfs = "    - {name: k8s/nfs, nfs: {}}\n"
	s.edit("cluster.yaml", "  pool: tank\n", "  pool: tank\n  protect: false\n")
	s.mustRun(0, "up", "--lab", "--yes")
	s.box(func(ctx context.Context, c *truenas.Client) error {
		return c.Call(ctx, nil, "pool.dataset.create", map[string]any{"name": "tank/k8s/nfs/data"})
	})
	s.edit("cluster.yaml", nfs, "")
	kept := s.says(0, "up", "--lab", "--yes")
	require.Contains(s.t, kept, "tank/k8s/nfs stays on TrueNAS, since it holds other datasets: to delete all of them, set EM_INFRA_DELETE_DATASETS=tank/k8s/nfs")
	require.NotNil(s.t, s.dataset("tank/k8s/nfs/data"))

	s.edit("cluster.yaml", "  datasets:\n", "  datasets:\n"+nfs)
	s.edit("cluster.yaml", nfs+"    - {name: k8s, quotaGiB: 500, compression: ZSTD}\n", "    - {name: k8s, quotaGiB: 500, compression: ZSTD}\n"+nfs)
	s.mustRun(0, "up", "--lab", "--yes")
	s.edit("cluster.yaml", nfs, "")
	s.env = append(s.env, truenas.DeleteDataVariable+"=tank/k8s/nfs")
	s.mustRun(0, "lab", "fault", "set", "nas-dataset-busy", "--times", "1")
	require.Contains(s.t, s.says(1, "up", "--lab", "--yes"), "something uses it: end its NFS clients and iSCSI sessions, then run it again")
	require.NotNil(s.t, s.dataset("tank/k8s/nfs/data"), "nothing of it is deleted")
	s.mustRun(0, "up", "--lab", "--yes")
	require.Nil(s.t, s.dataset("tank/k8s/nfs/data"))
	require.Nil(s.t, s.dataset("tank/k8s/nfs"))
	require.NotNil(s.t, s.dataset("tank/k8s"), "only what is named is deleted")
	s.env = nil
}

// isGoneForGood: a cluster whose NAS will not come back is destroyed by naming the NAS.
func (s *storageUnderTest) isGoneForGood() {
	s.t.Helper()
	d, err := lab.ReadDescription(s.labDir())
	require.NoError(s.t, err)
	s.mustRun(0, "lab", "fault", "set", "nas-off")
	require.Contains(s.t, s.says(3, "destroy", "--lab", "--yes"), "set EM_INFRA_NAS_GONE="+d.NASEndpoint()+", which forgets what this stack has there")
	s.env = append(s.env, truenas.GoneVariable+"="+d.NASEndpoint())
	require.Contains(s.t, s.says(0, "destroy", "--lab", "--yes"), "csi-k3s-dev is forgotten: EM_INFRA_NAS_GONE says that its box is gone for good")
	require.Empty(s.t, s.guests())
	s.mustRun(0, "lab", "fault", "clear", "nas-off")
	require.NotNil(s.t, s.dataset("tank/k8s"))
}
