package recovery

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

const (
	// bootstrapID is the provider's ID of every bootstrap (terraform-provider-talos v0.8.0,
	// pkg/talos/talos_machine_bootstrap_resource.go).
	bootstrapID = "machine_bootstrap"
)

// TalosMeta is what the bridge records for machine secrets, a configuration and a bootstrap beside their properties, under [MetaKey]
// (pulumi-terraform-bridge v3.116.0, pkg/pf/tfbridge/resource_state.go, metaState): the version of their schema, 1 in
// terraform-provider-talos v0.8.0 and v0.10.1. A state without it counts as version 0; the upgrade of a bootstrap from 0 adds timeouts,
// which the next refresh cannot write.
const (
	TalosMeta = `{"schema_version":"1"}`
	MetaKey   = "__meta"
)

// AdoptBootstrap adds the missing bootstrap of a node to a deployment, as if the provider had returned (F6). The provider itself
// would get AlreadyExists until its timeout. name is the resource's logical name.
func AdoptBootstrap(deployment *apitype.DeploymentV3, name, node string) {
	secrets := state.Unbootstrapped(*deployment)
	if secrets == nil {
		return
	}
	urn := resource.NewURN(secrets.URN.Stack(), secrets.URN.Project(), parentType(secrets.URN), token.Bootstrap, name)
	inputs := map[string]any{
		"clientConfiguration": secrets.Outputs["clientConfiguration"],
		"endpoint":            node,
		"node":                node,
	}
	outputs := map[string]any{"id": bootstrapID, MetaKey: TalosMeta}
	for key, value := range inputs {
		outputs[key] = value
	}
	deployment.Resources = append(deployment.Resources, apitype.ResourceV3{
		URN:          urn,
		Custom:       true,
		ID:           bootstrapID,
		Type:         token.Bootstrap,
		Inputs:       inputs,
		Outputs:      outputs,
		Parent:       secrets.Parent,
		Provider:     secrets.Provider,
		Dependencies: []resource.URN{secrets.URN},
		PropertyDependencies: map[resource.PropertyKey][]resource.URN{
			"clientConfiguration": {secrets.URN},
		},
	})
}

// CompleteBootstrap adds the schema version to a bootstrap that was adopted without it, and reports whether it changed anything.
func CompleteBootstrap(deployment *apitype.DeploymentV3) bool {
	completed := false
	for one := range state.Every(*deployment, token.Bootstrap) {
		if len(one.Outputs) == 0 {
			continue
		}
		if _, noted := one.Outputs[MetaKey]; !noted {
			one.Outputs[MetaKey] = TalosMeta
			completed = true
		}
	}
	return completed
}

// parentType returns the qualified type of a resource's parent.
func parentType(urn resource.URN) tokens.Type {
	qualified := string(urn.QualifiedType())
	own := string(urn.Type())
	if len(qualified) <= len(own) {
		return ""
	}
	return tokens.Type(qualified[:len(qualified)-len(own)-len(resource.URNTypeDelimiter)])
}
