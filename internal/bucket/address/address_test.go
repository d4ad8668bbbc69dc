package address_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, parsed, shown string }{
		{"a bucket", "s3://backups?region=eu-central-1", "s3://backups?region=eu-central-1", "s3://backups"},
		{"with a prefix", "s3://backups/home/lab/?region=auto", "s3://backups/home/lab/?region=auto", "s3://backups/home/lab"},
		{
			"a server of one's own", "s3://backups?endpoint=http://nas:9000&use_path_style=true&region=us-east-1",
			"s3://backups?endpoint=http%3A%2F%2Fnas%3A9000&region=us-east-1&use_path_style=true", "s3://backups",
		},
		{
			"in the form of before, over HTTP", "s3://backups?endpoint=nas:9000&disableSSL=true&s3ForcePathStyle=true",
			"s3://backups?disable_https=true&endpoint=http%3A%2F%2Fnas%3A9000&s3ForcePathStyle=true", "s3://backups",
		},
		{"and over HTTPS", "s3://backups?endpoint=nas:9000", "s3://backups?endpoint=https%3A%2F%2Fnas%3A9000", "s3://backups"},
		{"a folder", "file:///mnt/nas/backups", "file:///mnt/nas/backups", "file:///mnt/nas/backups"},
		{"a folder with a space", address.OfFolder("/mnt/the nas"), "file:///mnt/the%20nas", "file:///mnt/the%20nas"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parsed, err := address.Parse(test.text)
			require.NoError(t, err)
			require.Equal(t, test.parsed, parsed.String())
			require.Equal(t, test.shown, address.Shown(parsed))
		})
	}
}

func TestWhatIsNoBucket(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://a b":                          `is no URL (got "…"): write s3://BUCKET?region=REGION`,
		"backups":                           `is neither a bucket nor a folder (got "://"): write s3://BUCKET?region=REGION, or file:///FOLDER`,
		"https://backups.s3.amazonaws.com/": `is neither a bucket nor a folder (got "https://backups.s3.amazonaws.com"): write s3://BUCKET?region=REGION, or file:///FOLDER`,
		"s3://":                             `names no bucket (3 to 63 small letters, digits, dots and hyphens; got ""): write s3://BUCKET?region=REGION`,
		"s3://Backups":                      `names no bucket (3 to 63 small letters, digits, dots and hyphens; got "Backups"): write s3://BUCKET?region=REGION`,
		"s3://key:secret@backups":           `has a key in it (got "s3://…@backups"): write the URL without it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`,
		"s3://backups?disableSSL=maybe":     `has a parameter disableSSL that is neither true nor false (got "maybe"): write true, or remove it`,
		"s3://backups?region=%zz":           `has parameters that cannot be read (got "?…"): write s3://BUCKET?region=REGION`,
		"file://./backups":                  `is no folder from the root on (got "file://./backups"): write file:///FOLDER`,
		"file:///backups?create_dir=true":   `is no folder from the root on (got "file:///backups"): write file:///FOLDER`,
		"s3://backups?regoin=eu":            `has an unknown parameter (one of accelerate, anonymous, awssdk, disableSSL, disable_https, dualstack, endpoint, fips, hostname_immutable, kmskeyid, profile, rate_limiter_capacity, region, request_checksum_calculation, response_checksum_validation, role, s3ForcePathStyle, ssetype, use_path_style; got "regoin"): correct or remove it`,
	} {
		_, err := address.Parse(text)
		require.EqualError(t, err, want, text)
		var problem *address.Problem
		require.ErrorAs(t, err, &problem)
	}
}

func TestSettingsOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]address.Settings{
		"s3://backups?region=eu-central-1": {Bucket: "backups", Region: "eu-central-1"},
		"s3://backups/home/lab/?region=garage&endpoint=nas:3900&disableSSL=true&s3ForcePathStyle=1": {
			Bucket: "backups", Prefix: "home/lab", Region: "garage", Endpoint: "http://nas:3900", PathStyle: true,
		},
		"s3://backups?endpoint=https://s3.example&use_path_style=false&profile=mine&awssdk=v2": {Bucket: "backups", Endpoint: "https://s3.example"},
		"s3://backups?ssetype=aws:kms&role=x&kmskeyid=y&fips=true&dualstack=true&anonymous=true&request_checksum_calculation=when_required": {
			Bucket: "backups", Others: []string{"anonymous", "dualstack", "fips", "kmskeyid", "request_checksum_calculation", "role", "ssetype"},
		},
	} {
		settings, err := address.SettingsOf(text)
		require.NoError(t, err, text)
		require.Equal(t, want, settings, text)
	}
	_, err := address.SettingsOf("file:///mnt/backups")
	require.EqualError(t, err, "is not in an object store")
	_, err = address.SettingsOf("s3://")
	require.ErrorAs(t, err, new(*address.Problem))
}
