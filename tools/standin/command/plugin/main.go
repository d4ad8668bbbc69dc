// Command plugin is the stand-in for the Pulumi provider plugin pulumi-resource-command.
package main

import (
	"context"
	"fmt"
	"os"

	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"

	"github.com/em-infra/em-infra/tools/standin/command"
)

// version is the version of the SDK in the root go.mod, without the v. The linker sets it.
var version string

func main() {
	if err := pprovider.MainContext(context.Background(), command.Name, command.Server(version)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
