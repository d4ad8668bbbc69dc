// Command plugin is the stand-in for the Pulumi provider plugin pulumi-resource-command.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/em-infra/em-infra/tools/standin/command"
)

// version is set by the linker: that of the SDK in the root go.mod, without the v.
var version string

func main() {
	if err := command.New().Run(context.Background(), command.Name, version); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
