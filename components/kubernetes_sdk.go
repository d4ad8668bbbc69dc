//go:build addons

package components

// The SDK of in-cluster objects is pinned with the other four. Nothing of a cluster without addons is made of it, so it is
// not part of the program's build.
import _ "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
