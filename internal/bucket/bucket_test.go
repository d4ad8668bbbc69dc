package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
)

// TestMain gives the tests a key, which the servers of these tests do not look at, and keeps the machine's own settings out.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func open(t *testing.T, url, folder string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), url, folder, bucket.Limits{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestObjects is the life of objects, on an S3 server and in a folder.
func TestObjects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		url  func(*testing.T) string
	}{
		{"S3", func(t *testing.T) string {
			if testing.Short() {
				t.Skip("builds a server")
			}
			return s3test.Start(t)
		}},
		{"a folder", func(t *testing.T) string { return address.OfFolder(t.TempDir()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := test.url(t)
			ours, theirs := open(t, url, "home/etcd"), open(t, url, "home")
			ctx := t.Context()
			list, err := ours.List(ctx)
			require.NoError(t, err)
			require.Empty(t, list)

			large := bytes.Repeat([]byte("0123456789abcdef"), 6<<16) // 6 MiB: more than one part of an upload
			require.NoError(t, ours.Upload(ctx, "large", bytes.NewReader(large)))
			require.NoError(t, ours.Write(ctx, "small.json", []byte("{}")))
			list, err = ours.List(ctx)
			require.NoError(t, err)
			require.Equal(t, []object.Object{{Key: "large", Bytes: int64(len(large))}, {Key: "small.json", Bytes: 2}}, list)
			list, err = theirs.List(ctx)
			require.NoError(t, err)
			require.Equal(t, []object.Object{{Key: "etcd/large", Bytes: int64(len(large))}, {Key: "etcd/small.json", Bytes: 2}}, list)

			var back bytes.Buffer
			require.NoError(t, ours.Download(ctx, "large", &back))
			require.True(t, bytes.Equal(large, back.Bytes()))
			text, err := ours.Read(ctx, "small.json")
			require.NoError(t, err)
			require.Equal(t, "{}", string(text))

			require.NoError(t, ours.Delete(ctx, "large"))
			_, err = ours.Read(ctx, "large")
			require.ErrorIs(t, err, object.ErrNotFound)
			list, err = ours.List(ctx)
			require.NoError(t, err)
			require.Equal(t, []object.Object{{Key: "small.json", Bytes: 2}}, list)

			for _, read := range []int{0, 100, len(large)} {
				cut := io.MultiReader(bytes.NewReader(large[:read]), iotest.ErrReader(errors.New("read cluster.snap.age: input/output error")))
				require.EqualError(t, ours.Upload(ctx, "cut", cut), "read cluster.snap.age: input/output error")
			}
			list, err = ours.List(ctx)
			require.NoError(t, err)
			require.Equal(t, []object.Object{{Key: "small.json", Bytes: 2}}, list, "an upload that fails leaves nothing")
		})
	}
}

// TestAPrefixInTheURL: the prefix becomes the folder that the engine's backend uses.
func TestAPrefixInTheURL(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a server")
	}
	url := s3test.Start(t)
	require.NoError(t, open(t, strings.Replace(url, "s3://states?", "s3://states/home/?", 1), "k3s-dev/etcd").Write(t.Context(), "a", nil))
	list, err := open(t, url, "home").List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []object.Object{{Key: "k3s-dev/etcd/a"}}, list)
}

// answering returns the URL of a bucket whose server gives one answer to everything.
func answering(t *testing.T, status int, code string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("Date", "Mon, 23 Nov 2026 09:00:00 GMT")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the message\nof the server</Message></Error>", code)
	}))
	t.Cleanup(server.Close)
	return "s3://backups/home?region=us-east-1&use_path_style=true&endpoint=" + server.URL
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const key = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there"
	for _, test := range []struct {
		status     int
		code, want string
	}{
		{http.StatusNotFound, "NoSuchBucket", "there is no bucket s3://backups/home (NoSuchBucket): create it, or correct its URL"},
		{http.StatusForbidden, "AccessDenied", "the bucket s3://backups/home refuses the key (AccessDenied): give the key rights, with which it may list, read, write and delete there"},
		{http.StatusForbidden, "InvalidAccessKeyId", "the bucket s3://backups/home does not accept the key (InvalidAccessKeyId): " + key},
		{http.StatusForbidden, "SignatureDoesNotMatch", "the bucket s3://backups/home does not accept the key (SignatureDoesNotMatch): " + key},
		{http.StatusForbidden, "RequestTimeTooSkewed", "the bucket s3://backups/home refuses the time of the request (RequestTimeTooSkewed; its clock shows Mon, 23 Nov 2026 09:00:00 GMT): set the clock of this machine or of the server"},
		{http.StatusBadRequest, "InvalidDigest", "the bucket s3://backups/home refuses the checksum of an object (InvalidDigest): add request_checksum_calculation=when_required to its URL, or remove it there"},
		{http.StatusBadRequest, "AuthorizationHeaderMalformed", "the bucket s3://backups/home is in another region (AuthorizationHeaderMalformed): write region=REGION in its URL"},
		{http.StatusInternalServerError, "InternalError", "the bucket s3://backups/home answers InternalError (the message): see the log of its server"},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			b := open(t, answering(t, test.status, test.code), "etcd")
			_, err := b.List(t.Context())
			require.EqualError(t, err, test.want)
			require.EqualError(t, b.Write(t.Context(), "a", []byte("b")), test.want)
			require.EqualError(t, b.Upload(t.Context(), "a", strings.NewReader("b")), test.want)
		})
	}
}

func TestAServerThatIsGone(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	b := open(t, "s3://backups?region=us-east-1&use_path_style=true&endpoint=http://"+listener.Addr().String(), "etcd-301")
	_, err = b.Read(t.Context(), "a")
	require.NotErrorIs(t, err, object.ErrNotFound, "whether it exists is not known")
	_, err = b.List(t.Context())
	require.EqualError(t, err, "the bucket s3://backups does not answer (dial tcp "+listener.Addr().String()+": connect: connection refused): see that its endpoint is right and can be reached from here")
}

func TestAServerWithACertificateOfItsOwn(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	// The 301 in the folder's name is in the text of each error, as the port of some servers is: the library takes such an error for an absent bucket.
	_, err := open(t, "s3://backups?region=us-east-1&use_path_style=true&endpoint="+server.URL, "etcd-301").List(t.Context())
	require.EqualError(t, err, "the server of the bucket s3://backups has a certificate that is not trusted here (x509: certificate signed by unknown authority): set AWS_CA_BUNDLE to the file with the certificate of its authority")
}

// TestAServerThatIsSilent: a request ends at its limit, and when the run is interrupted.
func TestAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	b, err := bucket.Open(t.Context(), "s3://backups?region=us-east-1&use_path_style=true&endpoint="+server.URL, "etcd", bucket.Limits{Answer: time.Millisecond, Transfer: time.Millisecond})
	require.NoError(t, err)
	const silent = "the bucket s3://backups does not answer (context deadline exceeded): see that its endpoint is right and can be reached from here"
	_, err = b.List(t.Context())
	require.EqualError(t, err, silent)
	require.EqualError(t, b.Upload(t.Context(), "a", strings.NewReader("b")), silent)

	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, err = b.List(interrupted)
	require.EqualError(t, err, "interrupted")
	require.NoError(t, b.Close())
}

func TestAFolderThatIsNotMounted(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nas")
	_, err := bucket.Open(t.Context(), address.OfFolder(folder), "etcd", bucket.Limits{})
	require.EqualError(t, err, "there is no folder "+folder+": mount it or create it")
	_, err = bucket.Open(t.Context(), "s3://B", "etcd", bucket.Limits{})
	require.EqualError(t, err, `the URL of the bucket names no bucket (3 to 63 small letters, digits, dots and hyphens; got "B"): write s3://BUCKET?region=REGION`)
}
