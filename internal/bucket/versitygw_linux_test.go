package bucket_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
)

// realServer runs the tests on a real S3 server, which is built.
var realServer = flag.Bool("s3", false, "try a real S3 server, versitygw: TestARealServer")

// TestARealServer: it checks what gofakes3 does not, over TLS. It is not parallel: key and authority are in the environment. Run it with
//
//	go test ./internal/bucket -run TestARealServer -s3
func TestARealServer(t *testing.T) {
	if !*realServer {
		t.Skip("builds an S3 server, two minutes of processor time: run it with -s3")
	}
	server := s3test.StartVersitygw(t)
	for _, entry := range server.Env {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	for _, cli := range []string{"", "&request_checksum_calculation=when_required", "&request_checksum_calculation=when_supported"} {
		require.NoError(t, bucket.Probe{URL: server.URL + cli, Folder: probes, CLI: newer}.Run(t.Context()), cli)
		require.NoError(t, bucket.Probe{URL: server.URL + cli, Folder: probes, CLI: older}.Run(t.Context()), cli)
	}
	list, err := open(t, server.URL, "").List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)

	require.EqualError(t, probe(t.Context(), strings.Replace(server.URL, "region=home", "region=away", 1)),
		"the bucket s3://states is in another region (AuthorizationHeaderMalformed): write region=home in its URL")
	require.EqualError(t, probe(t.Context(), strings.Replace(server.URL, "s3://states", "s3://others", 1)),
		"there is no bucket s3://others (NoSuchBucket): create it, or correct its URL")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	require.EqualError(t, probe(t.Context(), server.URL),
		"the bucket s3://states does not accept the key (SignatureDoesNotMatch): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there")
	t.Setenv("AWS_ACCESS_KEY_ID", "another")
	require.EqualError(t, probe(t.Context(), server.URL),
		"the bucket s3://states does not accept the key (XAdminUserNotFound): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there")
}
