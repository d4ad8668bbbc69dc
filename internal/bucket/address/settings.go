package address

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Settings are the parts of an s3:// URL, for a client in a pod, which takes no URL.
type Settings struct {
	// Bucket is its name, and Prefix the folder in it, without slashes around it; empty for none.
	Bucket, Prefix string
	// Region of the bucket; empty if the URL names none.
	Region string
	// Endpoint is the URL of the server; empty for AWS's own.
	Endpoint string
	// PathStyle is whether the bucket is in the path of a request and not in its host.
	PathStyle bool
	// Others are the parameters that change where or how an object is stored and are none of these, sorted.
	Others []string
}

// ofThisMachine are parameters that concern only how this machine asks: its credentials, its pace, and what it reads.
var ofThisMachine = []string{"accelerate", "awssdk", "hostname_immutable", "profile", "rate_limiter_capacity", "response_checksum_validation"}

// errNoBucket means that a URL is that of a folder.
var errNoBucket = errors.New("is not in an object store")

// SettingsOf returns the parts of an s3:// URL. The error is that of [Parse], or that the URL is that of a folder.
func SettingsOf(text string) (Settings, error) {
	parsed, err := Parse(text)
	if err != nil {
		return Settings{}, err
	}
	if parsed.Scheme != S3 {
		return Settings{}, errNoBucket
	}
	query := parsed.Query()
	settings := Settings{
		Bucket: parsed.Host, Prefix: strings.Trim(parsed.Path, "/"), Region: query.Get("region"), Endpoint: query.Get("endpoint"),
		PathStyle: isTrue(query, "use_path_style") || isTrue(query, "s3ForcePathStyle"),
	}
	known := append([]string{"region", "endpoint", "use_path_style", "s3ForcePathStyle", "disable_https"}, ofThisMachine...)
	for _, parameter := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, parameter) {
			settings.Others = append(settings.Others, parameter)
		}
	}
	return settings, nil
}

// isTrue reports whether a parameter is true, as the library reads it.
func isTrue(query url.Values, parameter string) bool {
	value, err := strconv.ParseBool(query.Get(parameter))
	return err == nil && value
}
