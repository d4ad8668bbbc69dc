// Command plugin is the Pulumi provider plugin pulumi-resource-talos.
package main

import (
	"context"

	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"

	"github.com/em-infra/em-infra/tools/bridge/talos"
)

// version is the version of the SDK in the root go.mod, without the v. The linker sets it.
var version string

func main() {
	if err := pprovider.Main(talos.Name, talos.Server(context.Background(), version)); err != nil {
		cmdutil.ExitError(err.Error())
	}
}
