// Command command is a stand-in for the Pulumi provider plugin pulumi-resource-command. It serves the one resource
// command:local:Command with the inputs, outputs and semantics of the official provider, which is published as no
// Go module. It is test equipment: where the official plugin can be installed, that one is used.
package main

import (
	"context"
	"fmt"
	"os"

	provider "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi-go-provider/middleware/schema"

	"github.com/em-infra/em-infra/tools/standin/command/local"
)

// notice is logged when an operation configures the provider, so that nobody takes it for the official one.
const notice = "this is em-infra's stand-in for the provider command: it serves command:local:Command alone"

// version is set by the linker: that of the SDK in the root go.mod, without the v.
var version string

func main() {
	if err := newProvider().Run(context.Background(), "command", version); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newProvider() provider.Provider {
	p := infer.Provider(infer.Options{
		Metadata: schema.Metadata{
			DisplayName: "Command (stand-in)",
			Description: "A stand-in for the Pulumi provider command: local commands as resources.",
			License:     "Apache-2.0",
		},
		Resources: []infer.InferredResource{infer.Resource(&local.Command{})},
	})
	configure := p.Configure
	p.Configure = func(ctx context.Context, req provider.ConfigureRequest) error {
		provider.GetLogger(ctx).Info(notice)
		if configure == nil {
			return nil
		}
		return configure(ctx, req)
	}
	return p
}
