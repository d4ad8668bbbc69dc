package backup

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Difference is what putting a backup in the place of the present state changes.
type Difference struct {
	// Forgotten are the resources that the present state knows and the backup does not. They stay where they are, and the
	// next run would make them once more.
	Forgotten []string
	// Remembered are those that the backup knows and the present state does not. They may be gone.
	Remembered []string
}

// Compare returns the difference, by name and in the order of the states. Components, which are nothing outside of the
// state, and providers are left out.
func Compare(present, backup apitype.DeploymentV3) Difference {
	return Difference{Forgotten: missing(present, backup), Remembered: missing(backup, present)}
}

// missing are the resources of one state that another does not know.
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
