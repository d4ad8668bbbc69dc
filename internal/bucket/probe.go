package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/blang/semver"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/remedy"
)

// Probe tries at a URL what the engine does with a state.
type Probe struct {
	// URL of the state. Required.
	URL string
	// Folder below the URL for the object of the probe. Required; nothing else should be there.
	Folder string
	// CLI is the version of the Pulumi CLI, which decides the checksums that the engine sends. Required.
	CLI semver.Version
	// Limits are how long one request waits. Default: those of [Open].
	Limits Limits
}

// ChecksumError means that a server takes objects only with the other value of the parameter request_checksum_calculation.
type ChecksumError struct {
	// Refused is the code of the server's answer.
	Refused string
	// URL is the one that works; it was tried.
	URL string
	// CLI is the version of the CLI in use if it sends checksums regardless of what the URL says; otherwise nil.
	CLI *semver.Version

	bucket string
}

func (e *ChecksumError) Error() string {
	if e.CLI != nil {
		return fmt.Sprintf("the bucket %s refuses the checksums that the Pulumi CLI %s sends whatever the URL says (%s): %s", e.bucket, e.CLI, e.Refused, e.Remedy())
	}
	return fmt.Sprintf("the bucket %s refuses the checksums of its URL (%s): %s", e.bucket, e.Refused, e.Remedy())
}

// Remedy returns what to do.
func (e *ChecksumError) Remedy() string {
	if e.CLI != nil {
		return fmt.Sprintf("put a Pulumi CLI from %s on PATH, and change the URL to %s, which was tried and works", follows, e.URL)
	}
	return fmt.Sprintf("change the URL to %s, which was tried and works", e.URL)
}

// follows is the first version of the CLI that follows request_checksum_calculation correctly. Earlier versions send checksums with each object
// (3.245 to 3.255, google/go-cloud#3735), or what Cloudflare R2 refuses (3.256 and 3.257, pulumi/pulumi#24219).
var follows = semver.Version{Major: 3, Minor: 258}

// Run stores a small object in the folder, reads, copies, lists and deletes it, with the engine's library and its requests. It leaves nothing behind
// if the server deletes. The error is a [ChecksumError] if only the other way of checksums works.
func (p Probe) Run(ctx context.Context) error {
	deaf, at := p.CLI.LT(follows), p.URL
	if !deaf {
		at = asNewer(at)
	}
	err := p.once(ctx, at, deaf)
	var refused *stepError
	if !errors.As(err, &refused) || !refused.mayBeChecksum() {
		return err
	}
	other, known := withOtherChecksums(ctx, at, deaf)
	if !known || p.once(ctx, other, false) != nil {
		return err
	}
	problem := &ChecksumError{Refused: refused.code, URL: other, bucket: refused.bucket}
	if deaf {
		problem.CLI = &p.CLI
	}
	return problem
}

// stepError is the error of a step of a probe that the server refused.
type stepError struct {
	error
	bucket, code string
}

func (e *stepError) Unwrap() error { return e.error }

// notChecksum are the codes of answers that have nothing to do with checksums. Servers that do not know the newer checksums answer in many ways (400,
// 403, 411, 501), so every other code can mean that the server refuses a checksum.
var notChecksum = []string{"NoSuchBucket", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken", "RequestTimeTooSkewed", "PermanentRedirect", "InvalidRegionName"}

func (e *stepError) mayBeChecksum() bool {
	return !slices.Contains(notChecksum, e.code)
}

// once tries one URL.
func (p Probe) once(ctx context.Context, at string, deaf bool) error {
	b, err := open(ctx, at, p.Folder, p.Limits, deaf)
	if err != nil {
		return err
	}
	try := try{Bucket: b, folder: p.Folder, key: rand.Text() + ".json"}
	return errors.Join(try.run(ctx), b.Close())
}

// try is one try with one object.
type try struct {
	*Bucket
	folder, key string
}

// bak is what the engine appends to the key of the copy that it makes before each write (pulumi pkg/v3 v3.254.0, backend/diy/state.go).
const bak = ".bak"

// run does the steps of the probe. What it has stored is deleted in any case.
func (t try) run(ctx context.Context) error {
	text := []byte(`{"probe": "em-infra tries whether a state can be kept here"}`)
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"store", func(ctx context.Context) error { return t.objects.WriteAll(ctx, t.key, text, nil) }},
		{"read", func(ctx context.Context) error { return t.readBack(ctx, text) }},
		{"copy", func(ctx context.Context) error {
			return t.objects.Copy(ctx, t.key+bak, t.key, &blob.CopyOptions{BeforeCopy: plainSource})
		}},
		{"list", t.listed},
		{"delete", func(ctx context.Context) error {
			return errors.Join(t.objects.Delete(ctx, t.key), t.objects.Delete(ctx, t.key+bak))
		}},
	}
	for i, step := range steps {
		err := t.step(ctx, step.name, step.do)
		if err == nil {
			continue
		}
		var answered *stepError
		if nothingThere := i == 0 && errors.As(err, &answered); !nothingThere {
			t.clean(ctx)
		}
		if i == len(steps)-1 {
			err = remedy.Extend(err, fmt.Sprintf("; the objects %s/%s of the probe are still there", t.folder, t.key))
		}
		return err
	}
	return nil
}

// step does one step within its limit, and returns what its error means.
func (t try) step(ctx context.Context, name string, do func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, t.limits.Answer)
	defer cancel()
	err := do(asking)
	var strange oddError
	if errors.As(err, &strange) {
		return remedy.Errorf(strange.do, "the bucket %s %s", t, strange.does)
	}
	t.doing = name
	meant := t.problem(ctx, err)
	var answered smithy.APIError
	if errors.As(err, &answered) && ctx.Err() == nil {
		return &stepError{error: meant, bucket: t.String(), code: answered.ErrorCode()}
	}
	return meant
}

// cleaning is the time limit for the deletion of what a probe that failed has stored.
const cleaning = 10 * time.Second

// clean deletes what a probe that failed has stored. If the server does not delete either, only the error of the step before is reported.
func (t try) clean(ctx context.Context) {
	deleting, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(cleaning, t.limits.Answer))
	defer cancel()
	for _, key := range []string{t.key, t.key + bak} {
		_ = t.objects.Delete(deleting, key)
	}
}

// oddError is a behavior of a server that cannot keep a state, to be read after the name of the bucket, and what to do about it.
type oddError struct{ does, do string }

func (e oddError) Error() string { return e.does + ": " + e.do }

func odd(does string) error { return oddError{does: does, do: "choose another server for a state"} }

func (t try) readBack(ctx context.Context, text []byte) error {
	back, err := t.objects.ReadAll(ctx, t.key)
	switch {
	case answers(err, "NoSuchKey", "NotFound"):
		return odd("does not return what was just stored")
	case err == nil && !bytes.Equal(back, text):
		return odd("returns other bytes than were stored")
	}
	return err
}

// listed checks that the list shows what was just stored: the engine's locks depend on it.
func (t try) listed(ctx context.Context) error {
	list, err := t.all(ctx)
	if err != nil {
		return err
	}
	shown := map[string]bool{}
	for _, object := range list {
		shown[object.Key] = true
	}
	if !shown[t.key] || !shown[t.key+bak] {
		return odd("does not list what was just stored, so that two runs at once would not see each other")
	}
	return nil
}

// plainSource writes the source of a copy as the engine does (pulumi pkg/v3 v3.254.0, backend/diy/bucket.go, fixupS3CopySource): some
// servers do not decode it.
func plainSource(as func(any) bool) error {
	var input *s3.CopyObjectInput
	if !as(&input) || input == nil || input.CopySource == nil {
		return nil
	}
	source, err := url.QueryUnescape(*input.CopySource)
	if err != nil {
		return fmt.Errorf("source of a copy: %w", err)
	}
	segments := strings.Split(source, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(segment), "+", "%2B")
	}
	input.CopySource = aws.String(strings.Join(segments, "/"))
	return nil
}

// checksums is the parameter with the checksums of requests.
const checksums = "request_checksum_calculation"

// Values of that parameter.
const (
	whenRequired  = "when_required"
	whenSupported = "when_supported"
)

// asNewer returns a URL as a CLI from [follows] on reads it: if the URL names a server with endpoint= and lacks the parameter, that server gets no
// checksum that it does not ask for (pulumi/pulumi#24109).
func asNewer(at string) string {
	parsed, err := address.Parse(at)
	if err != nil || !parsed.Query().Has("endpoint") || parsed.Query().Has(checksums) || os.Getenv("AWS_REQUEST_CHECKSUM_CALCULATION") != "" {
		return at
	}
	return withParameter(at, checksums, whenRequired)
}

// withOtherChecksums returns the URL with the other value of that parameter than the one that is in effect, from the URL or the
// environment. It reports false for what is no bucket of S3.
func withOtherChecksums(ctx context.Context, at string, deaf bool) (string, bool) {
	parsed, err := address.Parse(at)
	if err != nil || parsed.Scheme != address.S3 {
		return "", false
	}
	query := url.Values{}
	if parsed.Query().Has(checksums) {
		query.Set(checksums, parsed.Query().Get(checksums))
	}
	config, err := gcaws.V2ConfigFromURLParams(ctx, query)
	if err != nil {
		return "", false
	}
	other := whenRequired
	if config.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired && !deaf {
		other = whenSupported
	}
	return withParameter(at, checksums, other), true
}

// withParameter returns the URL with another value of a parameter, otherwise as it was written.
func withParameter(at, name, value string) string {
	before, parameters, _ := strings.Cut(at, "?")
	var kept []string
	for parameter := range strings.SplitSeq(parameters, "&") {
		if parameter != "" && !strings.HasPrefix(parameter, name+"=") {
			kept = append(kept, parameter)
		}
	}
	return before + "?" + strings.Join(append(kept, name+"="+value), "&")
}
