package bucket

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

var errNoS3Client = errors.New("the library has no client of S3")

// openS3 opens a bucket by its URL, as the library does. Uploads follow request_checksum_calculation, which this version of the library
// gives to the client but not to what uploads (gocloud.dev v0.46.0, google/go-cloud#3735), unless deaf.
func openS3(ctx context.Context, at *url.URL, deaf bool) (*blob.Bucket, error) {
	opened, err := new(s3blob.URLOpener).OpenBucketURL(ctx, at)
	if err != nil {
		return nil, err
	}
	var client *s3.Client
	if !opened.As(&client) {
		return nil, errors.Join(errNoS3Client, opened.Close())
	}
	if err := opened.Close(); err != nil {
		return nil, err
	}
	options := client.Options()
	options.Logger = logging.Nop{} // else it warns on standard error of each object that it reads without a checksum
	if options.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired && !deaf {
		options.APIOptions = append(options.APIOptions, withoutChecksum)
	}
	return s3blob.OpenBucket(ctx, s3.New(options), at.Host, encryption(at.Query()))
}

// encryption returns the server's encryption that a URL asks for; the library has checked it.
func encryption(query url.Values) *s3blob.Options {
	options := &s3blob.Options{KMSEncryptionID: query.Get("kmskeyid")}
	for _, known := range options.EncryptionType.Values() {
		if strings.EqualFold(string(known), query.Get("ssetype")) {
			options.EncryptionType = known
		}
	}
	return options
}

// withoutChecksum removes the checksum that the uploader adds to an object (feature/s3/transfermanager v0.2.3, options.go,
// resolveChecksumAlgorithm), before the client sends it after the object.
func withoutChecksum(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("WithoutChecksum",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			switch input := in.Parameters.(type) {
			case *s3.PutObjectInput:
				input.ChecksumAlgorithm = ""
			case *s3.CreateMultipartUploadInput:
				input.ChecksumAlgorithm, input.ChecksumType = "", types.ChecksumType("")
			case *s3.UploadPartInput:
				input.ChecksumAlgorithm = ""
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}
