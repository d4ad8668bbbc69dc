// Package bucket keeps files in a bucket of an object store, or in a folder that stands for one, at a URL in the form of the engine's
// backends.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/remedy"
)

// Bucket is a folder of a bucket. Its keys are relative to the folder.
type Bucket struct {
	objects *blob.Bucket
	address *url.URL
	limits  Limits
	doing   string // the step of a probe that is under way
}

// Limits are how long one request waits, with all its retries, even if the server is gone.
type Limits struct {
	// Answer is the limit of a list, of a deletion, and of a small object. Default: 1 min.
	Answer time.Duration
	// Transfer is the limit of a file that is read or written. Default: 30 min.
	Transfer time.Duration
}

var (
	// ErrExists means that an object exists already.
	ErrExists = errors.New("the object exists")
	// ErrUnconditional means that a server does not know conditions of a write.
	ErrUnconditional = errors.New("the server knows no conditions of a write")
)

// Open opens the folder below the URL: s3://BUCKET[/PREFIX][?PARAMETERS] as the engine's backends have it, with the credentials of the
// environment, or file:///FOLDER. Nothing is asked yet. The caller closes it.
func Open(ctx context.Context, at, folder string, limits Limits) (*Bucket, error) {
	return open(ctx, at, folder, limits, false)
}

// open opens the folder. If deaf is true, uploads have a checksum regardless of what the URL says.
func open(ctx context.Context, at, folder string, limits Limits, deaf bool) (*Bucket, error) {
	if limits == (Limits{}) {
		limits = Limits{Answer: time.Minute, Transfer: 30 * time.Minute}
	}
	parsed, err := address.Parse(at)
	if err != nil {
		return nil, fmt.Errorf("the URL of the bucket %w", err)
	}
	b := &Bucket{address: parsed, limits: limits}
	var prefix string
	switch parsed.Scheme {
	case address.File:
		b.objects, err = fileblob.OpenBucket(parsed.Path, &fileblob.Options{DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
		if errors.Is(err, os.ErrNotExist) {
			return nil, remedy.Errorf("mount it or create it", "there is no folder %s", parsed.Path)
		}
	default:
		prefix = strings.Trim(parsed.Path, "/") // as the engine's backend has it (pulumi pkg/v3 v3.254.0, backend/diy/backend.go, New)
		b.objects, err = openS3(ctx, parsed, deaf)
	}
	if err != nil {
		return nil, b.problem(ctx, err)
	}
	b.objects = blob.PrefixedBucket(b.objects, path.Join(prefix, folder)+"/")
	return b, nil
}

// String returns the URL without its parameters.
func (b *Bucket) String() string { return address.Shown(b.address) }

// List returns all files, sorted by their keys.
func (b *Bucket) List(ctx context.Context) ([]object.Object, error) {
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	all, err := b.all(asking)
	return all, b.problem(ctx, err)
}

func (b *Bucket) all(ctx context.Context) ([]object.Object, error) {
	var all []object.Object
	for list := b.objects.List(nil); ; {
		next, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, object.Object{Key: next.Key, Bytes: next.Size})
	}
}

// Write stores a small object.
func (b *Bucket) Write(ctx context.Context, key string, text []byte) error {
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	return b.problem(ctx, b.objects.WriteAll(asking, key, text, nil))
}

// Read returns a small object.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	text, err := b.objects.ReadAll(asking, key)
	return text, b.problem(ctx, err)
}

// Download reads a file.
func (b *Bucket) Download(ctx context.Context, key string, to io.Writer) error {
	reading, cancel := context.WithTimeout(ctx, b.limits.Transfer)
	defer cancel()
	return b.problem(ctx, b.objects.Download(reading, key, to, nil))
}

// Delete deletes a file.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	return b.problem(ctx, b.objects.Delete(asking, key))
}

// Close ends its connections.
func (b *Bucket) Close() error { return b.objects.Close() }

// WriteNew stores a small object that does not exist. The error wraps [ErrExists] if it does, and [ErrUnconditional] if the server does not
// know the condition.
func (b *Bucket) WriteNew(ctx context.Context, key string, text []byte) error {
	asking, cancel := context.WithTimeout(ctx, b.limits.Answer)
	defer cancel()
	err := b.objects.WriteAll(asking, key, text, &blob.WriterOptions{IfNotExist: true})
	switch {
	case b.address.Scheme == address.File && gcerrors.Code(err) == gcerrors.FailedPrecondition:
		return ErrExists
	case answers(err, "PreconditionFailed", "ConditionalRequestConflict"):
		return ErrExists
	case answers(err, "NotImplemented"):
		return ErrUnconditional
	}
	return b.problem(ctx, err)
}
