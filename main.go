// Command em-infra, built from the root of the module, is the Pulumi program: what `pulumi up` runs.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/stacks"
)

func main() { pulumi.Run(stacks.Run) }
