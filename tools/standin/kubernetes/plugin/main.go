// Command plugin is the stand-in for the Pulumi provider plugin pulumi-resource-kubernetes.
package main

import (
	"fmt"
	"os"

	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/provider"
)

// version is the version of the SDK in the root go.mod, without the v. The linker sets it.
var version string

func main() {
	err := pprovider.Main(provider.Name, func(host *pprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return provider.New(host, version), nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
