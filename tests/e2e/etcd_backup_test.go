package e2e_test

import (
	"encoding/json"
	"testing"
	"time"

	"filippo.io/age"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
)

const keyOfTheBucket = "etcdBackup: {accessKeyId: made-up ID, secretAccessKey: made-up key of the bucket}\n"

// backupsOfTheTest returns the key backups of an inventory, for a bucket that the rehearsal does not ask.
func backupsOfTheTest(t *testing.T) string {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	return "backups: {bucket: \"s3://backups?region=eu-central-1\", recipients: [" + identity.Recipient().String() + "]}\n"
}

// letTheClusterStoreSnapshots: Talos gives the pods a talosconfig. What it writes into the cluster for that is no change of ours, and neither is its
// reason if it gives them none. The snapshots that pods store are listed.
func (a *addonsUnderTest) letTheClusterStoreSnapshots() {
	a.eventually("Talos makes the Secret of the account", func() bool { return a.secretOfTalos() != nil })
	require.Equal(a.t, []string{"talos.default"}, a.secretOfTalos().Contexts["default"].Endpoints)
	key := a.secret("etcd-backup", "etcd-backup-bucket").Data
	require.Equal(a.t, map[string][]byte{"AWS_ACCESS_KEY_ID": []byte("made-up ID"), "AWS_SECRET_ACCESS_KEY": []byte("made-up key of the bucket")}, key)
	job, err := a.kubernetes().BatchV1().CronJobs("etcd-backup").Get(a.t.Context(), "etcd-backup", metav1.GetOptions{})
	require.NoError(a.t, err)
	require.Equal(a.t, "0 */6 * * *", job.Spec.Schedule)
	a.mustRun(0, "preview", "--lab", "--refresh")

	secrets := a.kubernetes().CoreV1().Secrets("etcd-backup")
	foreign := a.secret("etcd-backup", "etcd-backup-talos")
	foreign.OwnerReferences = nil
	_, err = secrets.Update(a.t.Context(), foreign, metav1.UpdateOptions{})
	require.NoError(a.t, err)
	a.eventually("Talos refuses a Secret of others", func() bool {
		return a.refusalOfTalos() == "Secret already exists and is not managed by controller: etcd-backup/etcd-backup-talos"
	})
	a.mustRun(0, "preview", "--lab", "--refresh")
	require.NoError(a.t, secrets.Delete(a.t.Context(), foreign.Name, metav1.DeleteOptions{}))
	a.eventually("Talos makes its own again", func() bool { return a.refusalOfTalos() == "" && a.secretOfTalos() != nil })

	objects, err := bucket.Open(a.t.Context(), address.OfFolder(a.dir()+"/bucket"), a.stack+"/etcd", bucket.Limits{})
	require.NoError(a.t, err)
	stored := time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)
	require.NoError(a.t, objects.Write(a.t.Context(), "k3s-dev-"+stored.Format(time.RFC3339)+".snap.age", []byte("made-up")))
	require.NoError(a.t, objects.Close())
	require.Regexp(a.t, `2026-11-20T22-15-00-scheduled +unknown +bucket\n`, a.mustRun(0, "etcd", "list", "--lab"))
	var status struct {
		Copies struct {
			Bucket struct {
				Scheduled struct{ Name string }
				Due       time.Time
			}
		}
	}
	require.NoError(a.t, json.Unmarshal([]byte(a.mustRun(0, "status", "--lab", "--output", "json")), &status))
	require.Equal(a.t, "2026-11-20T22-15-00-scheduled", status.Copies.Bucket.Scheduled.Name)
	require.Equal(a.t, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), status.Copies.Bucket.Due)
}

// secretOfTalos returns the talosconfig that Talos has made for the pods; nil if there is none.
func (a *addonsUnderTest) secretOfTalos() *clientconfig.Config {
	secret, err := a.kubernetes().CoreV1().Secrets("etcd-backup").Get(a.t.Context(), "etcd-backup-talos", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	talosconfig, err := clientconfig.FromBytes(secret.Data["config"])
	if err != nil || talosconfig.Contexts["default"] == nil {
		return nil
	}
	return talosconfig
}

// refusalOfTalos returns why Talos gives the pods no talosconfig, as the status of the account has it.
func (a *addonsUnderTest) refusalOfTalos() string {
	a.t.Helper()
	const path = "/apis/talos.dev/v1alpha1/namespaces/etcd-backup/serviceaccounts/etcd-backup-talos"
	text, err := a.kubernetes().CoreV1().RESTClient().Get().AbsPath(path).DoRaw(a.t.Context())
	require.NoError(a.t, err)
	var account struct {
		Status struct{ FailureReason string }
	}
	require.NoError(a.t, json.Unmarshal(text, &account))
	return account.Status.FailureReason
}
