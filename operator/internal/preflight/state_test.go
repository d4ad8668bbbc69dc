package preflight_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestState is not parallel: the key is in the environment.
func TestState(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	probe := bucket.Probe{Folder: ".pulumi/probes", CLI: semver.MustParse("3.254.0")}
	probe.URL = address.OfFolder(t.TempDir())
	check, err := preflight.State(t.Context(), probe)
	require.NoError(t, err)
	require.Equal(t, preflight.Check{
		Name: "state", Result: preflight.OK, Sentence: "the bucket of the state, " + probe.URL + ", stores, returns, copies, lists and deletes objects",
	}, check)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s3test.Answer(w, http.StatusNotFound, "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>")
	}))
	t.Cleanup(server.Close)
	probe.URL = "s3://states?region=us-east-1&use_path_style=true&endpoint=" + server.URL
	check, err = preflight.State(t.Context(), probe)
	require.NoError(t, err)
	require.Equal(t, preflight.Check{
		Name: "state", Result: preflight.Fail, Sentence: "there is no bucket s3://states (NoSuchBucket)", Remedy: "create it, or correct its URL",
	}, check)

	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, err = preflight.State(interrupted, probe)
	require.EqualError(t, err, "interrupted")
}
