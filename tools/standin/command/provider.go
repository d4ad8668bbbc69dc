// Package command is a stand-in for the Pulumi provider command. It serves only the resource command:local:Command, with the
// inputs, outputs and semantics of the official provider, which is not published as a Go module. It is test equipment: the official
// plugin is used where it can be installed.
package command

import (
	"context"

	provider "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi-go-provider/middleware/schema"

	"github.com/em-infra/em-infra/tools/standin/command/local"
)

// Name is the package name in every token, and NAME in the binary pulumi-resource-NAME.
const Name = "command"

// Notice is logged when an operation configures the provider, so that users do not take it for the official provider.
const Notice = "em-infra's stand-in for the provider command: serves command:local:Command alone, for tests"

// New returns the provider.
func New() provider.Provider {
	p := infer.Provider(infer.Options{
		Metadata: schema.Metadata{
			DisplayName: "Command (stand-in)",
			Description: "A stand-in for the Pulumi provider command: local commands as resources.",
			License:     "Apache-2.0",
		},
		Resources: []infer.InferredResource{infer.Resource(&local.Command{})},
	})
	p.Configure = func(ctx context.Context, _ provider.ConfigureRequest) error { // there is nothing to configure
		provider.GetLogger(ctx).Info(Notice)
		return nil
	}
	return p
}
