//go:build tools

package cli

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
