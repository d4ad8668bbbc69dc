package stacks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/stacks"
)

// TestASnapshotThatTheBucketRefusedIsSentWithTheNextOne, against an S3 server whose bucket is missing at first.
func TestASnapshotThatTheBucketRefusedIsSentWithTheNextOne(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	url, options := s3test.Start(t), stacks.Options{Snapshots: t.TempDir()}
	missing := "s3://other" + url[len("s3://states"):]
	for range 2 {
		kept, err := keep(t, missing, options)
		require.NoError(t, err)
		require.EqualError(t, kept.NotInBucket, "there is no bucket s3://other (NoSuchBucket): create it, or correct its URL")
	}
	kept, err := keep(t, url, options)
	require.NoError(t, err)
	require.NoError(t, kept.NotInBucket)
	require.NoError(t, kept.NotSent)
	require.Equal(t, []string{"2026-11-20T22-15-00-before-up-2", "2026-11-20T22-15-00-before-up"}, kept.Sent)
	require.Equal(t, kept.Path+" and s3://states, which has 2026-11-20T22-15-00-before-up-2, 2026-11-20T22-15-00-before-up now, too", kept.Text())

	again, err := keep(t, url, options)
	require.NoError(t, err)
	require.Empty(t, again.Sent)
	require.Equal(t, again.Path+" and s3://states", again.Text())
}
