package bucket_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
)

const probes = ".pulumi/probes/em-infra/k3s-dev"

// older and newer are versions of the CLI: the one that is built here, and the first that follows the parameter.
var older, newer = semver.MustParse("3.254.0"), semver.MustParse("3.258.0")

func probe(ctx context.Context, url string) error {
	return bucket.Probe{URL: url, Folder: probes, CLI: older}.Run(ctx)
}

// onlyFor refuses requests of one method.
func onlyFor(method string, status int, text string) s3test.Refuse {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == method && s3test.Answer(w, status, text)
	}
}

const notAllowed = "<Error><Code>AccessDenied</Code><Message>Access Denied.</Message><Key>k</Key><BucketName>states</BucketName><Resource>/states/k</Resource></Error>"

// TestProbe: the server can refuse each of the steps; the answers are those of AWS, MinIO and R2. No try leaves an object.
func TestProbe(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a server")
	}
	const rights = ": give the key rights, with which it may list, read, write and delete there"
	server := s3test.Start(t)
	for _, test := range []struct {
		name   string
		refuse s3test.Refuse
		want   string
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) bool { return false }, ""},
		{"to store", onlyFor(http.MethodPut, http.StatusForbidden, notAllowed), "the bucket s3://states refuses the key (AccessDenied, to store)" + rights},
		{"to read", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".json") && s3test.Answer(w, http.StatusForbidden, notAllowed)
		}, "the bucket s3://states refuses the key (AccessDenied, to read)" + rights},
		{"to copy", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Header.Get("X-Amz-Copy-Source") != "" && s3test.Answer(w, http.StatusForbidden, notAllowed)
		}, "the bucket s3://states refuses the key (AccessDenied, to copy)" + rights},
		{"to list", func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Query().Has("list-type") && s3test.Answer(w, http.StatusForbidden, notAllowed)
		}, "the bucket s3://states refuses the key (AccessDenied, to list)" + rights},
		{"lists late", func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Query().Has("list-type") && s3test.Answer(w, http.StatusOK, "<ListBucketResult><Name>states</Name><KeyCount>0</KeyCount></ListBucketResult>")
		}, "the bucket s3://states does not list what was just stored, so that two runs at once would not see each other: choose another server for a state"},
		{"reads late", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".json") &&
				s3test.Answer(w, http.StatusNotFound, "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>")
		}, "the bucket s3://states does not return what was just stored: choose another server for a state"},
		{"reads something else", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, ".json") {
				return false
			}
			_, err := w.Write([]byte("another"))
			return err == nil
		}, "the bucket s3://states returns other bytes than were stored: choose another server for a state"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := probe(t.Context(), s3test.Before(t, server, test.refuse, (*httptest.Server).Start))
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.want)
			}
		})
	}
	t.Cleanup(func() { // after all of them
		b, err := bucket.Open(context.Background(), server, "", bucket.Limits{})
		require.NoError(t, err)
		list, err := b.List(context.Background())
		require.NoError(t, err)
		require.Empty(t, list, "what a probe stores is deleted")
		require.NoError(t, b.Close())
	})
}

// TestProbeThatMayNotDelete names what stays.
func TestProbeThatMayNotDelete(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a server")
	}
	url := s3test.Start(t)
	err := probe(t.Context(), s3test.Before(t, url, onlyFor(http.MethodDelete, http.StatusForbidden, notAllowed), (*httptest.Server).Start))
	list, listErr := open(t, url, probes).List(t.Context())
	require.NoError(t, listErr)
	var left []string
	for _, object := range list {
		left = append(left, "the bucket s3://states refuses the key (AccessDenied, to delete): give the key rights, with which it may list, read, write and delete there; "+
			"the objects "+probes+"/"+object.Key+" of the probe are still there")
	}
	require.Contains(t, left, err.Error())
}

// TestProbeOfAFolder: a folder of this machine stands for a bucket.
func TestProbeOfAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, probe(t.Context(), address.OfFolder(folder)))
	list, err := open(t, address.OfFolder(folder), ".").List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

// TestProbeFindsTheChecksumsThatWork: over TLS, the library sends the checksum after the object, or none. It is not parallel, because the
// certificate's authority is in the environment.
func TestProbeFindsTheChecksumsThatWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	trust(t)
	server := s3test.Start(t)
	for _, test := range []struct {
		name    string
		refuse  s3test.Refuse
		given   string
		cli     semver.Version
		problem string
		works   string
	}{
		{
			"R2 without trailers, and the CLI of here", noTrailers, "", older,
			"refuses the checksums that the Pulumi CLI 3.254.0 sends whatever the URL says (NotImplemented): put a Pulumi CLI from 3.258.0 on PATH, and change the URL to ",
			"&request_checksum_calculation=when_required",
		},
		{
			"the parameter is in the URL already", noTrailers, "&request_checksum_calculation=when_required", older,
			"refuses the checksums that the Pulumi CLI 3.254.0 sends whatever the URL says (NotImplemented): put a Pulumi CLI from 3.258.0 on PATH, and change the URL to ",
			"&request_checksum_calculation=when_required",
		},
		{"a newer CLI sends none to a server of its own", noTrailers, "", newer, "", ""},
		{
			"R2 that wants checksums", func(w http.ResponseWriter, r *http.Request) bool {
				return r.Header.Get("X-Amz-Content-Sha256") == "UNSIGNED-PAYLOAD" && s3test.Answer(w, http.StatusBadRequest,
					"<Error><Code>InvalidDigest</Code><Message>The Content-MD5 you specified was invalid.</Message></Error>")
			}, "&request_checksum_calculation=when_required", newer,
			"refuses the checksums of its URL (InvalidDigest): change the URL to ", "&request_checksum_calculation=when_supported",
		},
		{
			"B2", func(w http.ResponseWriter, r *http.Request) bool {
				return r.Header.Get("X-Amz-Sdk-Checksum-Algorithm") != "" && s3test.Answer(w, http.StatusBadRequest,
					"<Error><Code>InvalidArgument</Code><Message>Unsupported header 'x-amz-sdk-checksum-algorithm' received for this API call.</Message></Error>")
			}, "&request_checksum_calculation=when_supported", newer,
			"refuses the checksums of its URL (InvalidArgument): change the URL to ", "&request_checksum_calculation=when_required",
		},
		{
			"a server that signs no trailers", func(w http.ResponseWriter, r *http.Request) bool {
				return r.Header.Get("X-Amz-Trailer") != "" && s3test.Answer(w, http.StatusForbidden,
					"<Error><Code>SignatureDoesNotMatch</Code><Message>The request signature we calculated does not match the signature you provided. Check your key and signing method.</Message></Error>")
			}, "&request_checksum_calculation=when_supported", newer,
			"refuses the checksums of its URL (SignatureDoesNotMatch): change the URL to ", "&request_checksum_calculation=when_required",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := s3test.Before(t, server, test.refuse, (*httptest.Server).StartTLS)
			err := bucket.Probe{URL: url + test.given, Folder: probes, CLI: test.cli}.Run(t.Context())
			if test.problem == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "the bucket s3://states "+test.problem+url+test.works+", which was tried and works")
			var checksum *bucket.ChecksumError
			require.ErrorAs(t, err, &checksum)
			require.NoError(t, bucket.Probe{URL: checksum.URL, Folder: probes, CLI: newer}.Run(t.Context()))
			require.NoError(t, open(t, checksum.URL, "backups").Write(t.Context(), "a", []byte("b")), "backups follow the URL with any CLI")
		})
	}
}

// noTrailers is R2 as it was: it does not know checksums after the object.
func noTrailers(w http.ResponseWriter, r *http.Request) bool {
	return r.Header.Get("X-Amz-Content-Sha256") == "STREAMING-UNSIGNED-PAYLOAD-TRAILER" && s3test.Answer(w, http.StatusNotImplemented,
		"<Error><Code>NotImplemented</Code><Message>STREAMING-UNSIGNED-PAYLOAD-TRAILER not implemented</Message></Error>")
}

// trust makes the authority of the test servers' certificates known.
func trust(t *testing.T) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", file)
}

// TestProbeRefused: what the servers of others answer, to the letter, and no second try with other checksums.
func TestProbeRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		status  int
		headers http.Header
		text    string
		want    string
	}{
		{
			"AWS, another region", http.StatusMovedPermanently, http.Header{"X-Amz-Bucket-Region": {"eu-central-1"}},
			"<Error><Code>PermanentRedirect</Code><Message>The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint.</Message><Endpoint>states.s3.eu-central-1.amazonaws.com</Endpoint><Bucket>states</Bucket></Error>",
			"the bucket s3://states is in another region (PermanentRedirect): write region=eu-central-1 in its URL",
		},
		{
			"AWS, another region in the key", http.StatusBadRequest, nil,
			"<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-central-1'</Message><Region>eu-central-1</Region></Error>",
			"the bucket s3://states is in another region (AuthorizationHeaderMalformed): write region=eu-central-1 in its URL",
		},
		{
			"MinIO, another region", http.StatusBadRequest, nil,
			"<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the region is wrong; expecting 'home'.</Message><BucketName>states</BucketName><Resource>/states/</Resource><Region>home</Region></Error>",
			"the bucket s3://states is in another region (AuthorizationHeaderMalformed): write region=home in its URL",
		},
		{
			"R2, another region", http.StatusBadRequest, nil,
			"<Error><Code>InvalidRegionName</Code><Message>The region name 'us-west-7' is not valid. Must be one of: wnam, enam, weur, eeur, apac, oc, auto</Message></Error>",
			"the bucket s3://states is in another region (InvalidRegionName): write region=auto in its URL",
		},
		{
			"R2, no key of it", http.StatusUnauthorized, nil, "<Error><Code>Unauthorized</Code><Message>Unauthorized</Message></Error>",
			"the bucket s3://states does not accept the key (Unauthorized): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there",
		},
		{
			"R2, a key of AWS", http.StatusBadRequest, nil, "<Error><Code>InvalidArgument</Code><Message>Credential access key has length 20, should be 32</Message></Error>",
			"the bucket s3://states does not accept the key (InvalidArgument): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there",
		},
		{
			"MinIO, an unknown key", http.StatusForbidden, nil,
			"<Error><Code>InvalidAccessKeyId</Code><Message>The Access Key Id you provided does not exist in our records.</Message><BucketName>states</BucketName><Resource>/states/</Resource></Error>",
			"the bucket s3://states does not accept the key (InvalidAccessKeyId): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there",
		},
		{
			"no such bucket", http.StatusNotFound, nil,
			"<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message><BucketName>states</BucketName><Resource>/states/</Resource></Error>",
			"there is no bucket s3://states (NoSuchBucket): create it, or correct its URL",
		},
		{
			"a clock that is wrong", http.StatusForbidden, http.Header{"Date": {"Mon, 23 Nov 2026 09:00:00 GMT"}},
			"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and the current time is too large.</Message><RequestTime>20261123T080000Z</RequestTime><ServerTime>2026-11-23T09:00:00Z</ServerTime><MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds></Error>",
			"the bucket s3://states refuses the time of the request (RequestTimeTooSkewed; its clock shows Mon, 23 Nov 2026 09:00:00 GMT): set the clock of this machine or of the server",
		},
		{
			"MinIO's console", http.StatusForbidden, nil,
			"<Error><Code>AccessDenied</Code><Message>S3 API Request made to Console port. S3 Requests should be sent to API port.</Message><RequestId>0</RequestId></Error>",
			"what answers for the bucket s3://states is no S3 server (403 Forbidden): correct scheme and port of endpoint= in its URL, which are those of the API and not of the web console",
		},
		{
			"a server of HTTPS", http.StatusBadRequest, nil, "Client sent an HTTP request to an HTTPS server.\n",
			"what answers for the bucket s3://states is no S3 server (400 Bad Request): correct scheme and port of endpoint= in its URL, which are those of the API and not of the web console",
		},
		{
			"a web page", http.StatusUnauthorized, nil, "<!doctype html><html><head><meta charset=utf-8><title>Sign in</title></head></html>",
			"what answers for the bucket s3://states is no S3 server (401 Unauthorized): correct scheme and port of endpoint= in its URL, which are those of the API and not of the web console",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range test.headers {
					w.Header()[name] = values
				}
				s3test.Answer(w, test.status, test.text)
			}))
			t.Cleanup(server.Close)
			require.EqualError(t, probe(t.Context(), "s3://states?region=us-east-1&use_path_style=true&endpoint="+server.URL), test.want)
		})
	}
}

// TestProbeOfAServerOfHTTP is an endpoint whose scheme was forgotten.
func TestProbeOfAServerOfHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	require.EqualError(t, probe(t.Context(), "s3://states?region=us-east-1&use_path_style=true&endpoint="+strings.TrimPrefix(server.URL, "http://")),
		"the server of the bucket s3://states speaks HTTP where its URL says HTTPS: write endpoint=http://HOST:PORT in the URL")
}
