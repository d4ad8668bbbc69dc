// Package address reads the URLs of buckets, in the form of the engine's backends, pure.
package address

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Schemes of a URL.
const (
	S3   = "s3"
	File = "file"
)

const legacyNoHTTPS = "disableSSL"

// parameters are those of an s3:// URL (gocloud.dev v0.46.0, aws/aws.go, V2ConfigFromURLParams, and blob/s3blob/s3blob.go, URLOpener),
// and the one that the engine translates for them (pulumi pkg/v3 v3.254.0, backend/diy/backend.go, translateLegacyS3Params).
var parameters = []string{
	"accelerate", "anonymous", "awssdk", legacyNoHTTPS, "disable_https", "dualstack", "endpoint", "fips", "hostname_immutable", "kmskeyid", "profile",
	"rate_limiter_capacity", "region", "request_checksum_calculation", "response_checksum_validation", "role", "s3ForcePathStyle", "ssetype",
	"use_path_style",
}

// name is the form of a bucket's name, as servers have it (S3, Bucket naming rules).
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Problem is what is wrong with a URL. Nothing that could be a key is repeated in it.
type Problem struct {
	// What is wrong, to be read after the name of the URL, and by which rule.
	What, Rule string
	// Got is the part of the URL.
	Got string
	// Do is what to do about it.
	Do string
}

// Error returns the problem in one sentence.
func (p *Problem) Error() string {
	var aside []string
	if p.Rule != "" {
		aside = append(aside, p.Rule)
	}
	return fmt.Sprintf("%s (%s): %s", p.What, strings.Join(append(aside, "got "+strconv.Quote(p.Got)), "; "), p.Do)
}

// Remedy returns what to do.
func (p *Problem) Remedy() string { return p.Do }

const (
	writeBucket = "write s3://BUCKET?region=REGION"
	writeFolder = "write file:///FOLDER"
)

// Parse reads a URL: s3://BUCKET[/PREFIX][?PARAMETERS], or file:///FOLDER. What it returns is in the form that gocloud.dev wants. The error
// is a [Problem].
func Parse(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, &Problem{What: "is no URL", Got: "…", Do: writeBucket}
	}
	switch {
	case parsed.User != nil:
		return nil, &Problem{
			What: "has a key in it", Got: parsed.Scheme + "://…@" + parsed.Host,
			Do: "write the URL without it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
		}
	case parsed.Scheme == File:
		return parsed, checkFolder(parsed)
	case parsed.Scheme != S3:
		return nil, &Problem{What: "is neither a bucket nor a folder", Got: parsed.Scheme + "://" + parsed.Host, Do: writeBucket + ", or file:///FOLDER"}
	case !name.MatchString(parsed.Host):
		return nil, &Problem{What: "names no bucket", Rule: "3 to 63 small letters, digits, dots and hyphens", Got: parsed.Host, Do: writeBucket}
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, &Problem{What: "has parameters that cannot be read", Got: "?…", Do: writeBucket}
	}
	for _, parameter := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(parameters, parameter) {
			return nil, &Problem{What: "has an unknown parameter", Rule: "one of " + strings.Join(parameters, ", "), Got: parameter, Do: "correct or remove it"}
		}
	}
	return translated(parsed, query)
}

func checkFolder(parsed *url.URL) error {
	if parsed.Host != "" || !filepath.IsAbs(parsed.Path) || parsed.RawQuery != "" {
		return &Problem{What: "is no folder from the root on", Got: Shown(parsed), Do: writeFolder}
	}
	return nil
}

// Shown returns a URL without its parameters.
func Shown(address *url.URL) string {
	short := url.URL{Scheme: address.Scheme, Host: address.Host, Path: strings.TrimSuffix(address.Path, "/")}
	return short.String()
}

// IsS3 reports whether a URL is that of a bucket of S3.
func IsS3(text string) bool { return strings.HasPrefix(text, S3+"://") }

// OfFolder returns the URL of a folder, whose path is absolute.
func OfFolder(path string) string {
	address := url.URL{Scheme: File, Path: filepath.ToSlash(path)}
	return address.String()
}

// translated returns the URL as the library wants it, as the engine does it for its backend (translateLegacyS3Params), so that one form
// fits both.
func translated(address *url.URL, query url.Values) (*url.URL, error) {
	noHTTPS := false
	if text := query.Get(legacyNoHTTPS); text != "" {
		var err error
		if noHTTPS, err = strconv.ParseBool(text); err != nil {
			return nil, &Problem{What: "has a parameter " + legacyNoHTTPS + " that is neither true nor false", Got: text, Do: "write true, or remove it"}
		}
		query.Del(legacyNoHTTPS)
		query.Set("disable_https", strconv.FormatBool(noHTTPS))
	}
	if endpoint := query.Get("endpoint"); endpoint != "" && !strings.Contains(endpoint, "://") {
		scheme := "https://"
		if noHTTPS {
			scheme = "http://"
		}
		query.Set("endpoint", scheme+endpoint)
	}
	changed := *address
	changed.RawQuery = query.Encode()
	return &changed, nil
}
