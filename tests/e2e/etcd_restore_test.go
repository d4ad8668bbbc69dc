package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EALostClusterIsRestored deletes the only control plane on the host. One command makes its machine anew and brings etcd back from the newest
// snapshot, which exists only in the bucket of an S3 server. That takes two runs: the first is killed as soon as the machine is being made. Then it
// goes back in time on purpose. The bucket did not take the snapshot at first: the next up copied it there.
func TestE2EALostClusterIsRestored(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	both := []string{"k3s-dev-control-1", "k3s-dev-worker-1"}
	r.remember()
	r.writeInventory("cluster.yaml", r.read(filepath.Join(r.inventory, "cluster.yaml"))+"backups: {bucket: \"s3://backups?region=eu-central-1\"}\n")
	url := s3test.Start(t)
	withBucket := func(url string) {
		r.env = []string{"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", workspace.BucketVariable + "=" + url} //nolint:gosec // the server checks no key
	}
	withBucket(strings.Replace(url, "s3://states?", "s3://other?", 1))
	refused := r.mustRun(1, "etcd", "snapshot", "--lab")
	require.Contains(t, refused, "the snapshot is on this machine alone, because there is no bucket s3://other (NoSuchBucket): create it, or correct its URL")
	snapshot := snapshotName(t, refused)
	withBucket(url)
	require.Regexp(t, `"bucket": \{\s+"url": "[^"]+",\s+"missing": 1\s`, r.mustRun(0, "status", "--lab", "--output", "json"))
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "copied to s3://states, which lacked them: "+snapshot+"\n")
	require.Regexp(t, snapshot+` .* both\n`, r.mustRun(0, "etcd", "list", "--lab"))
	require.Regexp(t, `copies +snapshot of etcd \d min old, in the bucket \d min old, no recovery kit\n`, r.mustRun(0, "status", "--lab"))
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir(), "backups", "etcd"))) // as on another machine
	r.writes("later")

	r.deleteOnHost(101)
	refusal := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(t, refusal, "refused: say --allow-replace k3s-dev-control-1 to go on, or bring etcd back from a snapshot with `")
	require.Regexp(t, "etcd restore --stack .* --lab`, or restore the VM of k3s-dev-control-1 from a backup", refusal)
	plan := r.mustRun(0, "etcd", "restore", "--lab", "--dry-run", "--allow-replace", "k3s-dev-control-1")
	require.Contains(t, plan, "the snapshot "+snapshot+" is copied from s3://states")
	require.Regexp(t, `CREATE +k3s-dev-control-1 +VM 101 on vmhost`, plan)
	require.Contains(t, plan, "etcd is restored from "+snapshot+": what was written after revision ")
	require.Regexp(t, `nothing was changed \(--dry-run\)\nnext: .*etcd restore --stack \S+ .*--lab --allow-replace k3s-dev-control-1\n`, plan)

	flags := []string{"etcd", "restore", "--lab", "--yes"}
	kill := r.startToKill(flags...)
	began := time.Now()
	r.eventually("the machine boots", func() bool {
		return slices.ContainsFunc(r.talosLog(began), func(line labstack.NodeLine) bool { return line.VMID == 101 && line.Step == "boot" })
	})
	kill()
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes", "--until", "bootstrap"), "a restore of etcd was begun and has not ended: run `")
	output := r.mustRun(0, flags...)
	require.Contains(t, output, "the restore of etcd from "+snapshot+" that was begun at ")
	require.Contains(t, output, "etcd works on k3s-dev-control-1 with the data of the snapshot")
	require.Regexp(t, `snapshot +`+snapshot, output)
	require.Regexp(t, `members of etcd +k3s-dev-control-1\n`, output)
	require.Regexp(t, `Nodes Ready +2 of 2\n`, output)
	r.cameBack(both)
	r.isGone("later")

	require.Contains(t, r.mustRun(3, flags...), "etcd works and has 1 members, and a restore takes it back in time")
	r.writes("later")
	require.Contains(t, r.mustRun(3, append(flags, "--from", snapshot)...), "refused: say --allow-replace k3s-dev-control-1 to go on")
	output = r.mustRun(0, append(flags, "--from", snapshot, "--allow-replace", "k3s-dev-control-1")...)
	require.Contains(t, output, "k3s-dev-control-1 deletes its data of etcd and reboots")
	r.cameBack(both)
	r.isGone("later")
}

// TestE2ETheOnlyControlPlaneIsReplaced gives the only control plane another VMID, address and storage under its name, in two runs; the first is
// killed. Then it gives it another name. Each time its etcd moves by a snapshot.
func TestE2ETheOnlyControlPlaneIsReplaced(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	r.remember()
	with := func(controlPlane string) {
		r.writeInventory("nodes.yaml", "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"+controlPlane+
			"  - {name: k3s-dev-worker-1, role: worker, vmid: 102, address: 192.168.20.21, startup: {order: 2, upDelaySeconds: 30, downDelaySeconds: 60}}\n")
	}
	with("  - {name: k3s-dev-control-1, role: control-plane, vmid: 131, address: 192.168.20.31, diskStorage: other}\n")
	output := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(t, output, "this is the only control plane: a snapshot of etcd is taken, and etcd is restored from it on the new machine")
	require.Contains(t, output, "refused: say --allow-replace k3s-dev-control-1 to go on")

	flags := []string{"up", "--lab", "--yes", "--allow-replace", "k3s-dev-control-1"}
	kill := r.startToKill(flags...)
	began := time.Now()
	r.eventually("the former machine is reset", func() bool {
		return slices.ContainsFunc(r.talosLog(began), func(line labstack.NodeLine) bool { return line.VMID == 101 && line.Step == "stop" })
	})
	kill()
	output = r.mustRun(0, flags...)
	require.Contains(t, output, "etcd works on k3s-dev-control-1 with the data of the snapshot")
	require.Regexp(t, `Nodes Ready +2 of 2\n`, output)
	r.cameBack([]string{"k3s-dev-control-1", "k3s-dev-worker-1"})

	with("  - {name: k3s-dev-control-9, role: control-plane, vmid: 131, address: 192.168.20.31, diskStorage: other}\n")
	require.Regexp(t, "REPLACE +k3s-dev-control-9 +name k3s-dev-control-1 → k3s-dev-control-9", r.mustRun(3, "up", "--lab", "--yes"))
	output = r.mustRun(0, "up", "--lab", "--yes", "--allow-replace", "k3s-dev-control-9")
	require.Contains(t, output, "etcd works on k3s-dev-control-9 with the data of the snapshot")
	require.Contains(t, output, "k3s-dev-control-1 is no longer a Node of the cluster", "it is in the snapshot")
	r.cameBack([]string{"k3s-dev-control-9", "k3s-dev-worker-1"})
}

// TestE2EALostQuorumIsRestored loses two of three control planes: one is deleted, one is off and comes back with data of the time before. Only the
// data file of the third one is left. Then it loses all three, and only the newest snapshot is left.
func TestE2EALostQuorumIsRestored(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, three)
	r.remember()
	r.power(false, 103)
	r.deleteOnHost(102)
	flags := []string{"etcd", "restore", "--lab", "--yes"}
	output := r.mustRun(0, "etcd", "restore", "--lab", "--dry-run", "--allow-replace", "k3s-dev-control-3")
	require.Contains(t, output, "k3s-dev-control-1 still has the data of etcd, which the restore keeps as a snapshot first: revision ")
	require.Regexp(t, `next: .*etcd restore --stack \S+ .*--lab --allow-replace k3s-dev-control-3 --allow-replace k3s-dev-control-1\n`, output)
	require.Empty(t, r.snapshots("before-restore"), "of a dry run")
	require.NoDirExists(t, filepath.Join(r.dir(), "backups", "etcd", "dry-run"))
	output = r.mustRun(3, flags...)
	require.Contains(t, output, "k3s-dev-control-1 still has the data of etcd, kept as ")
	require.Contains(t, output, "refused: say --allow-replace k3s-dev-control-1 --allow-replace k3s-dev-control-3 to go on")
	output = r.mustRun(0, append(flags, "--allow-replace", "k3s-dev-control-1", "--allow-replace", "k3s-dev-control-3")...)
	require.Contains(t, output, "k3s-dev-control-1 deletes its data of etcd and reboots")
	require.Contains(t, output, "k3s-dev-control-3 deletes its data of etcd and reboots", "it would never join")
	require.Regexp(t, `members of etcd +k3s-dev-control-1, k3s-dev-control-2, k3s-dev-control-3\n`, output)
	require.Regexp(t, `Nodes Ready +3 of 3\n`, output)
	all := []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3"}
	r.cameBack(all)

	r.deleteOnHost(101)
	r.deleteOnHost(102)
	r.deleteOnHost(103)
	output = r.mustRun(0, flags...)
	require.Regexp(t, `members of etcd +k3s-dev-control-1, k3s-dev-control-2, k3s-dev-control-3\n`, output)
	require.Regexp(t, `Nodes Ready +3 of 3\n`, output)
	r.cameBack(all)
}

var snapshotFile = regexp.MustCompile(`([0-9T-]+-by-hand)\.snap\.age`)

func snapshotName(t *testing.T, output string) string {
	t.Helper()
	found := snapshotFile.FindStringSubmatch(output)
	require.Len(t, found, 2, output)
	return found[1]
}

// snapshots returns the files of the snapshots that were taken for a reason.
func (r *rehearsal) snapshots(reason string) []string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir(), "backups", "etcd", "*-"+reason+".snap.age"))
	require.NoError(r.t, err)
	return found
}

// writes creates an object after the snapshot.
func (r *rehearsal) writes(name string) {
	r.t.Helper()
	_, err := r.kubernetes().CoreV1().ConfigMaps("default").Create(r.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(r.t, err)
}

func (r *rehearsal) isGone(name string) {
	r.t.Helper()
	_, err := r.kubernetes().CoreV1().ConfigMaps("default").Get(r.t.Context(), name, metav1.GetOptions{})
	require.True(r.t, apierrors.IsNotFound(err), "%v", err)
}
