package status

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
)

// isos returns the volume IDs of the ISOs that the templates of a state boot.
func isos(deployment apitype.DeploymentV3) []string {
	var files []string
	for _, template := range state.Templates(deployment) {
		files = append(files, template.ISO)
	}
	return files
}

// LostISOs returns the templates whose ISO no longer exists: machines that are cloned from them do not start. A refresh does not
// detect that, since the ISO is not a resource of the provider.
func LostISOs(ctx context.Context, host pve.Reader, deployment apitype.DeploymentV3) (lost []state.Template, err error) {
	for _, template := range state.Templates(deployment) {
		there, err := host.HasISO(ctx, pve.ISO{Host: template.Host, Volume: template.ISO})
		if err != nil {
			return nil, err
		}
		if !there {
			lost = append(lost, template)
		}
	}
	return lost, nil
}
