// Command plugin is the Pulumi provider plugin pulumi-resource-proxmoxve.
package main

import (
	"context"

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"

	"github.com/em-infra/em-infra/tools/bridge/proxmoxve"
)

// version is the version of the SDK in the root go.mod, without the v. The linker sets it.
var version string

func main() {
	schema, err := proxmoxve.Schema(version)
	if err != nil {
		cmdutil.ExitError(err.Error())
	}
	pf.MainWithMuxer(context.Background(), proxmoxve.Name, proxmoxve.Provider(version), schema)
}
