package state

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// The suffixes of the names of a node's resources, after the node's logical name.
const (
	SuffixMachine       = "-vm"
	SuffixContainer     = "-ct"
	SuffixSchematic     = "-image-schematic"
	suffixConfiguration = "-configuration"
	suffixMembership    = "-membership"
)

// HasJoined reports whether the state has the membership of a machine's node.
func HasJoined(deployment apitype.DeploymentV3, machine resource.URN) bool {
	return ofNode(deployment, machine, token.Command, suffixMembership) != nil
}

// ConfigurationOf returns the configuration of a machine's node; nil if there is none.
func ConfigurationOf(deployment apitype.DeploymentV3, machine resource.URN) *apitype.ResourceV3 {
	return ofNode(deployment, machine, token.Configuration, suffixConfiguration)
}

// ofNode returns a resource of a machine's node, identified by the suffix of its name; nil if there is none.
func ofNode(deployment apitype.DeploymentV3, machine resource.URN, kind tokens.Type, suffix string) *apitype.ResourceV3 {
	name := nodeOf(machine, SuffixMachine) + suffix
	return first(Existing(deployment, kind), func(r *apitype.ResourceV3) bool { return r.URN.Name() == name })
}

// nodeOf returns the logical name of the node of a resource whose name has a suffix.
func nodeOf(urn resource.URN, suffix string) string { return strings.TrimSuffix(urn.Name(), suffix) }
