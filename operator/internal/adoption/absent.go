package adoption

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Without removes resources that do not exist from a deployment, and what is replaced with them: the configuration and the membership
// of a machine. The next up creates them.
func Without(deployment *apitype.DeploymentV3, absent []resource.URN) {
	gone := slices.Clone(absent)
	for _, r := range deployment.Resources {
		if slices.ContainsFunc(r.ReplaceWith, func(with resource.URN) bool { return slices.Contains(absent, with) }) {
			gone = append(gone, r.URN)
		}
	}
	for _, urn := range gone {
		recovery.Forget(deployment, urn)
	}
}
