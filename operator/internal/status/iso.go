package status

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// Template is a template in a state, with the ISO that it boots.
type Template struct {
	// ISO is the ISO's volume on a storage of the host.
	ISO pve.ISO
	// Ensures is the Command that ensures the ISO.
	Ensures resource.URN
}

// Templates returns the templates in a state.
func Templates(deployment apitype.DeploymentV3) []Template {
	var templates []Template
	for _, component := range deployment.Resources {
		if component.Type != token.TalosTemplate {
			continue
		}
		host, _ := component.Inputs["host"].(string)
		volume, _ := component.Outputs["iso"].(string)
		at := slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool {
			return r.Type == token.Command && r.Parent == component.URN && !r.Delete
		})
		if host != "" && volume != "" && at >= 0 { // else it was never created
			templates = append(templates, Template{ISO: pve.ISO{Host: host, Volume: volume}, Ensures: deployment.Resources[at].URN})
		}
	}
	return templates
}

// isos returns the volume IDs of the ISOs that the templates of a state boot.
func isos(deployment apitype.DeploymentV3) []string {
	var files []string
	for _, template := range Templates(deployment) {
		files = append(files, template.ISO.Volume)
	}
	return files
}

// LostISOs returns the templates whose ISO no longer exists: machines that are cloned from them do not start. A refresh does not
// detect that, since the ISO is not a resource of the provider.
func LostISOs(ctx context.Context, host pve.Reader, deployment apitype.DeploymentV3) (lost []Template, err error) {
	for _, template := range Templates(deployment) {
		there, err := host.HasISO(ctx, template.ISO)
		if err != nil {
			return nil, err
		}
		if !there {
			lost = append(lost, template)
		}
	}
	return lost, nil
}
