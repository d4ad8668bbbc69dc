//go:build tools

// Package versitygw keeps an S3 server in this module's requirements; the command itself is built from versitygw's module.
package versitygw

import _ "github.com/versity/versitygw/cmd/versitygw"
