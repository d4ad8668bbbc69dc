//go:build tools

// Package image keeps ko in this module's requirements; the command itself is built from ko's module.
package image

import _ "github.com/google/ko"
