package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/status"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	of := func(age time.Duration) *status.Copy {
		return &status.Copy{Name: "2026-11-20T22-15-00-kit", Taken: today.Add(-age)}
	}
	due := func(after time.Duration) *time.Time {
		at := today.Add(after)
		return &at
	}
	const day = 24 * time.Hour
	for _, test := range []struct {
		name   string
		copies status.Copies
		want   string
	}{
		{"a rehearsal without any", status.Copies{}, ""},
		{"a rehearsal", status.Copies{Snapshot: of(100 * day)}, "copies        snapshot of etcd 100 days old, no recovery kit\n"},
		{
			"none", status.Copies{Expected: true}, "copies        no snapshot of etcd, no recovery kit\n" +
				"recovery kit  there is none for the day on which this computer is lost: `em-infra kit create` makes one\n",
		},
		{"new", status.Copies{Expected: true, Snapshot: of(-time.Second), Kit: of(47 * time.Hour)}, "copies        snapshot of etcd 0 min old, recovery kit 47 h old\n"},
		{"in their last minute", status.Copies{Expected: true, Snapshot: of(7*day - 1), Kit: of(90*day - 1)}, "copies        snapshot of etcd 6 days old, recovery kit 89 days old\n"},
		{
			"old", status.Copies{Expected: true, Snapshot: of(7 * day), Kit: of(90 * day)}, "copies        snapshot of etcd 7 days old, recovery kit 90 days old\n" +
				"snapshot      the newest one of etcd is 7 days old: `em-infra etcd snapshot` takes one\n" +
				"recovery kit  2026-11-20T22-15-00-kit is 90 days old: `em-infra kit create` makes a new one\n",
		},
		{
			"of other secrets", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Outdated: true}, "copies        snapshot of etcd 60 min old, recovery kit 60 min old\n" +
				"recovery kit  2026-11-20T22-15-00-kit is older than the machine secrets: `em-infra kit create` makes a new one\n",
		},
		{
			"in a bucket", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{URL: "s3://backups", Snapshot: of(7*day - 1)}},
			"copies        snapshot of etcd 60 min old, in the bucket 6 days old, recovery kit 60 min old\n",
		},
		{
			"old in the bucket", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{URL: "s3://backups", Snapshot: of(7 * day)}},
			"copies        snapshot of etcd 60 min old, in the bucket 7 days old, recovery kit 60 min old\n" +
				"snapshot      the newest one of etcd in s3://backups is 7 days old: `em-infra etcd snapshot` takes one\n",
		},
		{
			"an empty bucket", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{URL: "s3://backups"}},
			"copies        snapshot of etcd 60 min old, none in the bucket, recovery kit 60 min old\n" +
				"snapshot      s3://backups has none of etcd: `em-infra etcd snapshot` takes one\n",
		},
		{
			"by schedule", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{
				URL: "s3://backups", Snapshot: of(time.Hour), Scheduled: of(8*time.Hour - 1), Due: due(1 - 2*time.Hour),
			}},
			"copies        snapshot of etcd 60 min old, in the bucket 60 min old, recovery kit 60 min old\n",
		},
		{
			"by schedule, and the last one is missing", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{
				URL: "s3://backups", Snapshot: of(time.Hour), Scheduled: of(8 * time.Hour), Due: due(-2 * time.Hour),
			}},
			"copies        snapshot of etcd 60 min old, in the bucket 60 min old, recovery kit 60 min old\n" +
				"snapshot      the newest one that the cluster itself has stored in s3://backups is 8 h old, and one was due at 2026-11-21 10:00 UTC: see `kubectl -n etcd-backup get jobs`\n",
		},
		{
			"by schedule, and the first one is to come", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{
				URL: "s3://backups", Snapshot: of(time.Hour), Due: due(2 * time.Hour),
			}},
			"copies        snapshot of etcd 60 min old, in the bucket 60 min old, recovery kit 60 min old\n" +
				"snapshot      the cluster itself has stored none in s3://backups yet, the first one is due at 2026-11-21 14:00 UTC: `kubectl -n etcd-backup create job --from=cronjob/etcd-backup first` takes one\n",
		},
		{
			"a bucket that lacks some", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), Bucket: &status.BucketCopies{URL: "s3://backups", Snapshot: of(7 * day), Missing: 2}},
			"copies        snapshot of etcd 60 min old, in the bucket 7 days old, recovery kit 60 min old\n" +
				"snapshot      2 of etcd on this machine are missing in s3://backups: `em-infra up` and `em-infra etcd snapshot` copy them\n",
		},
		{
			"a bucket that refuses", status.Copies{Expected: true, Kit: of(time.Hour), Bucket: &status.BucketCopies{URL: "s3://backups", Problem: "there is no bucket s3://backups (NoSuchBucket): create it, or correct its URL"}},
			"copies        no snapshot of etcd, unknown in the bucket, recovery kit 60 min old\n" +
				"snapshot      there is no bucket s3://backups (NoSuchBucket): create it, or correct its URL\n",
		},
		{
			"backups of the state in its bucket", status.Copies{State: &status.StateBackups{URL: "s3://states", Newest: of(time.Hour), Missing: 2}},
			"backups       of the state, the newest in s3://states 60 min old\n",
		},
		{
			"backups of the state that its bucket lacks", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), State: &status.StateBackups{URL: "s3://states", Newest: of(time.Hour), Missing: 2}},
			"copies        snapshot of etcd 60 min old, recovery kit 60 min old\nbackups       of the state, the newest in s3://states 60 min old\n" +
				"backups       2 of the state on this machine are missing in s3://states: `em-infra up` and `em-infra state backup` copy them\n",
		},
		{
			"no backups of the state in its bucket", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), State: &status.StateBackups{URL: "s3://states"}},
			"copies        snapshot of etcd 60 min old, recovery kit 60 min old\nbackups       of the state, none in s3://states\n" +
				"backups       s3://states has none of the state: `em-infra state backup` makes one\n",
		},
		{
			"a bucket of the state that refuses", status.Copies{Expected: true, Snapshot: of(time.Hour), Kit: of(time.Hour), State: &status.StateBackups{URL: "s3://states", Problem: "there is no bucket s3://states (NoSuchBucket): create it, or correct its URL"}},
			"copies        snapshot of etcd 60 min old, recovery kit 60 min old\nbackups       of the state, unknown in s3://states\n" +
				"backups       there is no bucket s3://states (NoSuchBucket): create it, or correct its URL\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := wellReport()
			r.Copies = test.copies
			var text strings.Builder
			require.NoError(t, r.WriteText(&text))
			_, after, found := strings.Cut(text.String(), "last update succeeded 2026-11-20 22:15:00\n")
			require.True(t, found)
			require.Equal(t, test.want, after)
			require.Empty(t, r.Lacks(), "the cluster is well")
		})
	}
}
