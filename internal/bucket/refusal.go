package bucket

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/em-infra/em-infra/internal/remedy"
)

// refusal returns what an answer of the server means, by its code (S3 API reference, Error responses; the codes of Cloudflare R2 and of
// MinIO, cmd/api-errors.go, and of versitygw, s3err, where they differ).
func (b *Bucket) refusal(answered smithy.APIError, headers http.Header) error {
	code, message := answered.ErrorCode(), firstLine(answered.ErrorMessage())
	switch {
	case strings.Contains(message, "API port"): // of MinIO's console
		return b.noS3(http.StatusForbidden)
	case code == "InvalidArgument" && strings.HasPrefix(message, "Credential "): // of R2, for a key of another server
		return b.keyNotAccepted(code)
	}
	switch code {
	case "NoSuchBucket":
		return b.absent(code)
	case "NoSuchKey", "NotFound":
		return notFound{remedy.Errorf("list what is there", "the bucket %s does not have the object (%s)", b, code)}
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		return remedy.Errorf("give the key rights, with which it "+rights, "the bucket %s refuses the key (%s)", b, b.during(code))
	case "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "Unauthorized":
		return b.keyNotAccepted(code)
	case "InvalidDigest", "BadDigest", "NotImplemented", "XAmzContentSHA256Mismatch":
		return remedy.Errorf("add request_checksum_calculation=when_required to its URL, or remove it there", "the bucket %s refuses the checksum of an object (%s)", b, code)
	case "RequestTimeTooSkewed":
		return remedy.Errorf("set the clock of this machine or of the server", "the bucket %s refuses the time of the request (%s%s)", b, code, clockIn(headers))
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidRegionName":
		return remedy.Errorf("write region="+regionIn(message, headers)+" in its URL", "the bucket %s is in another region (%s)", b, code)
	case "BadRequest", "MethodNotAllowed": // derived from the status of an answer without a code
		return b.noS3(map[string]int{"BadRequest": http.StatusBadRequest, "MethodNotAllowed": http.StatusMethodNotAllowed}[code])
	default:
		return remedy.Errorf("see the log of its server", "the bucket %s answers %s (%s)", b, code, message)
	}
}

// answers reports whether an error is an answer of the server with one of the codes. The library's own gcerrors.Code takes each error with 301 in its
// text, for example that of a server at port 30100, for a bucket that does not exist (gocloud.dev v0.46.0, google/go-cloud#3746).
func answers(err error, codes ...string) bool {
	var answered smithy.APIError
	return errors.As(err, &answered) && slices.Contains(codes, answered.ErrorCode())
}

func (b *Bucket) keyNotAccepted(code string) error {
	return remedy.Errorf("set "+keyVariables+" to one that "+rights, "the bucket %s does not accept the key (%s)", b, code)
}

// noS3 returns the error for an answer in another form than that of S3: of a web page, a proxy, or a server of HTTPS that is asked in HTTP.
func (b *Bucket) noS3(status int) error {
	return remedy.Errorf("correct scheme and port of endpoint= in its URL, which are those of the API and not of the web console", "what answers for the bucket %s is no S3 server (%d %s)",
		b, status, http.StatusText(status))
}

// during returns a code with what the probe wanted to do.
func (b *Bucket) during(code string) string {
	if b.doing == "" {
		return code
	}
	return code + ", to " + b.doing
}

// headersOf returns those of the server's answer; nil for none.
func headersOf(err error) http.Header {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil {
		return nil
	}
	return answer.Response.Header
}

// clockIn returns what the server's clock showed.
func clockIn(headers http.Header) string {
	if date := headers.Get("Date"); date != "" {
		return "; its clock shows " + date
	}
	return ""
}

// regions are the ways in which servers name the region that they expect: AWS, MinIO and versitygw, and R2, which takes auto.
var regions = regexp.MustCompile(`expecting ['"]([a-z0-9-]+)['"]|one of: .*\b(auto)\b`)

// regionIn returns the region that the server expects, or the placeholder REGION.
func regionIn(message string, headers http.Header) string {
	if region := headers.Get("X-Amz-Bucket-Region"); region != "" {
		return region
	}
	for _, found := range regions.FindAllStringSubmatch(message, 1) {
		return found[1] + found[2]
	}
	return "REGION"
}
