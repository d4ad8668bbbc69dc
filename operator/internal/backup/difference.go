package backup

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Difference is the change that restoring a backup would make to the state.
type Difference struct {
	// Forgotten are the resources in the present state but not in the backup. They stay on the host, and the next run would create
	// them again.
	Forgotten []string
	// Remembered are the resources in the backup but not in the present state. They may no longer exist.
	Remembered []string
}

// Compare returns the difference as names, in the order of the states. It omits components, which exist only in the state, and
// providers.
func Compare(present, backup apitype.DeploymentV3) Difference {
	return Difference{Forgotten: missing(present, backup), Remembered: missing(backup, present)}
}

// missing returns the resources of one state that are not in the other.
func missing(from, in apitype.DeploymentV3) []string {
	known := make(map[resource.URN]bool, len(in.Resources))
	for _, r := range in.Resources {
		known[r.URN] = true
	}
	var names []string
	for _, r := range from.Resources {
		if r.Custom && !r.Delete && !known[r.URN] && r.Type.Package() != "pulumi" {
			names = append(names, r.URN.Name())
		}
	}
	return names
}
