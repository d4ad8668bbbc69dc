package state

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// PropertyUpdate is the property of a Command with the text that it runs when it is updated.
const PropertyUpdate = "update"

// Membership is the Command of a node's membership, whose update upgrades the node.
type Membership struct {
	// URN of the resource.
	URN resource.URN
	// Update is the text of its update.
	Update string
	// Image is the installer image in it.
	Image string
}

// Memberships returns the memberships that have an image, by the address of their node.
func Memberships(deployment apitype.DeploymentV3) map[string]Membership {
	found := map[string]Membership{}
	for one := range Current(deployment, token.Command) {
		update := propertymap.Text(one.Inputs, PropertyUpdate)
		flags := flagsOf(update, nodeUpgrade)
		if flags == nil {
			continue
		}
		found[flags["--address"]] = Membership{URN: one.URN, Update: update, Image: flags["--image"]}
	}
	return found
}

// WithImage returns the text of the update with another image.
func (m Membership) WithImage(image string) string {
	return strings.Replace(m.Update, m.Image, image, 1)
}

// nodeRemove is the command of em-infra that removes a node, as the program writes it into the deletion of a membership.
const nodeRemove = "node remove"

// ControlPlaneAddresses returns the addresses of the control planes that have joined and were not removed.
func ControlPlaneAddresses(deployment apitype.DeploymentV3) []string {
	var addresses []string
	for one := range Current(deployment, token.Command) {
		removal := propertymap.Text(one.Inputs, "delete")
		if address := flagsOf(removal, nodeRemove)["--address"]; address != "" && strings.HasSuffix(removal, " --control-plane") {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
