//go:build tools

// Package cli keeps the Pulumi CLI in this module's requirements. The command itself is built from Pulumi's module.
package cli

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
