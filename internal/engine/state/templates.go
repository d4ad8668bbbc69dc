package state

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// Template is a template with the ISO that it boots.
type Template struct {
	// Host is the host of the template.
	Host string
	// ISO is the volume ID of the ISO on a storage of the host.
	ISO string
	// Ensures is the Command that ensures the ISO.
	Ensures resource.URN
}

// Templates returns the templates that were created, in the order of the state.
func Templates(deployment apitype.DeploymentV3) []Template {
	var templates []Template
	for component := range Every(deployment, token.TalosTemplate) {
		host, iso := propertymap.Text(component.Inputs, "host"), propertymap.Text(component.Outputs, "iso")
		ensures := first(Current(deployment, token.Command), func(r *apitype.ResourceV3) bool { return r.Parent == component.URN })
		if host != "" && iso != "" && ensures != nil { // else it was never created
			templates = append(templates, Template{Host: host, ISO: iso, Ensures: ensures.URN})
		}
	}
	return templates
}

// HasSchematic reports whether the state has the schematic with that ID for a component. Then a run does not send it to the Image Factory.
func HasSchematic(deployment apitype.DeploymentV3, component, id string) bool {
	made := first(Existing(deployment, token.Schematic), func(r *apitype.ResourceV3) bool { return r.URN.Name() == component+SuffixSchematic })
	return made != nil && made.ID.String() == id
}

// PoolMaker returns the Command that created a resource pool, if there is one.
func PoolMaker(deployment apitype.DeploymentV3, pool string) (urn resource.URN, found bool) {
	maker := first(Current(deployment, token.Command), func(r *apitype.ResourceV3) bool {
		return strings.HasSuffix(propertymap.Text(r.Inputs, "create"), " pool ensure "+pool)
	})
	if maker == nil {
		return "", false
	}
	return maker.URN, true
}
