package bucket

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/gcerrors"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/remedy"
)

// keyVariables are what gives the credentials.
const keyVariables = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"

// rights are what a key needs.
const rights = "may list, read, write and delete there"

// problem returns what an error of the library means, in one sentence that ends with what to do. It returns nil for nil.
func (b *Bucket) problem(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if b.address.Scheme == address.File {
		return b.folderProblem(err)
	}
	var answered smithy.APIError
	if errors.As(err, &answered) {
		return b.refusal(answered, headersOf(err))
	}
	var (
		untrusted *tls.CertificateVerificationError
		unreached net.Error
		other     *smithyhttp.ResponseError
	)
	switch {
	case b.lacksCredentials(ctx):
		return remedy.Errorf("set "+keyVariables+" in the environment", "there is no key for the bucket %s", b)
	case b.lacksRegion(ctx):
		return remedy.Errorf("add region=REGION to it (us-east-1 for most servers of your own)", "the URL of the bucket %s names no region", b)
	case errors.As(err, &untrusted):
		return remedy.Errorf("set AWS_CA_BUNDLE to the file with the certificate of its authority", "the server of the bucket %s has a certificate that is not trusted here (%s)", b, firstLine(untrusted.Err.Error()))
	case errors.Is(err, http.ErrSchemeMismatch):
		return remedy.Errorf("write endpoint=http://HOST:PORT in the URL", "the server of the bucket %s speaks HTTP where its URL says HTTPS", b)
	case errors.As(err, &other) && other.HTTPStatusCode() != 0:
		return b.noS3(other.HTTPStatusCode())
	case errors.As(err, &unreached), errors.Is(err, context.DeadlineExceeded):
		return remedy.Errorf("see that its endpoint is right and can be reached from here", "the bucket %s does not answer (%s)", b, rootOf(err))
	default:
		return remedy.Errorf("see its URL and its server's log", "the bucket %s cannot be used (%s)", b, rootOf(err))
	}
}

func (b *Bucket) absent(code string) error {
	return notFound{remedy.Errorf("create it, or correct its URL", "there is no bucket %s (%s)", b, code)}
}

func (b *Bucket) folderProblem(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return notFound{remedy.Errorf("list what is there", "the folder %s does not have the file", b)}
	}
	return remedy.Errorf("see that it is mounted and has space, and that you may write there", "the folder %s cannot be used (%s)", b, rootOf(err))
}

// notFound is an error that is [object.ErrNotFound] too.
type notFound struct{ error }

func (e notFound) Unwrap() error { return e.error }

func (notFound) Is(target error) bool { return target == object.ErrNotFound }

// lacksCredentials reports whether no source provides a key. It is called only after a failure: the library reports this case only as a text.
func (b *Bucket) lacksCredentials(ctx context.Context) bool {
	if b.address.Query().Has("anonymous") || b.address.Query().Has("role") {
		return false
	}
	config, err := gcaws.V2ConfigFromURLParams(ctx, b.only("profile", "region"))
	if err != nil {
		return false
	}
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	_, err = config.Credentials.Retrieve(asking)
	return err != nil && asking.Err() == nil // an expired limit does not show that the key is missing
}

func (b *Bucket) lacksRegion(ctx context.Context) bool {
	config, err := gcaws.V2ConfigFromURLParams(ctx, b.only("profile", "region"))
	return err == nil && config.Region == ""
}

// only returns some parameters of the URL.
func (b *Bucket) only(names ...string) url.Values {
	all, some := b.address.Query(), url.Values{}
	for _, name := range names {
		if all.Has(name) {
			some.Set(name, all.Get(name))
		}
	}
	return some
}

// rootOf returns the innermost error as one line: the outer ones repeat the request.
func rootOf(err error) string {
	var call *net.OpError
	switch {
	case errors.As(err, &call):
		return call.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded.Error()
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return firstLine(err.Error())
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
