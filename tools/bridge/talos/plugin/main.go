// Command plugin is the Pulumi provider plugin pulumi-resource-talos.
package main

import (
	"context"

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"

	"github.com/em-infra/em-infra/tools/bridge/talos"
)

// version is set by the linker: that of the SDK in the root go.mod, without the v.
var version string

func main() {
	metadata, err := talos.Metadata(version)
	if err != nil {
		cmdutil.ExitError(err.Error())
	}
	pf.Main(context.Background(), talos.Name, talos.Provider(version), metadata)
}
