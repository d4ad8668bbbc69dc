package drift

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// rawStateDelta is a property that a bridged provider stores beside the outputs, to restore its own form of the state. It does not
// fit edited outputs; without it the outputs are used as they are (pulumi-terraform-bridge v3.116.0, pkg/tfbridge/rawstate.go,
// Recover).
const rawStateDelta = "__pulumi_raw_state_delta"

// AppliedConfiguration is the machine configuration that was last applied to a node, from the state.
type AppliedConfiguration struct {
	// URN is the URN of the resource.
	URN resource.URN
	// Text is the configuration with all patches, as recorded by the provider. Secret.
	Text []byte
}

// Applied returns the machine configurations that were last applied, by the address of their node. The state must have its secrets
// in plain text.
func Applied(deployment apitype.DeploymentV3) (map[string]AppliedConfiguration, error) {
	applied := map[string]AppliedConfiguration{}
	for _, one := range deployment.Resources {
		if one.Type != token.Configuration || one.Delete {
			continue
		}
		plain, err := engine.Unseal(one.Outputs["machineConfiguration"])
		if err != nil {
			return nil, err
		}
		node, _ := one.Outputs["node"].(string)
		if text, isText := plain.(string); isText { // else its creation was interrupted
			applied[node] = AppliedConfiguration{URN: one.URN, Text: []byte(text)}
		}
	}
	return applied, nil
}

// Note writes the running configuration of a node into the state, as a refresh would if the provider's Read did anything
// (terraform-provider-talos v0.10.1, pkg/talos/talos_machine_configuration_apply_resource.go). The engine then plans an ordinary
// update. The running configuration replaces both the applied one and its patches, because the patches would hide changes in the
// same places.
func Note(deployment *apitype.DeploymentV3, configuration resource.URN, running []byte) error {
	at := slices.IndexFunc(deployment.Resources, func(one apitype.ResourceV3) bool {
		return one.URN == configuration && !one.Delete
	})
	if at < 0 {
		return nil // it is no longer in the state and will be created again
	}
	one := &deployment.Resources[at]
	given, err := engine.Unseal(one.Inputs["machineConfigurationInput"])
	if err != nil {
		return err
	}
	text, _ := given.(string)
	// It is the same machine as before, so its birth identifier stays.
	sealed, err := engine.Seal(machineconfig.WithBirth(string(running), machineconfig.BirthIn(text)))
	if err != nil {
		return err
	}
	for _, properties := range []map[string]any{one.Inputs, one.Outputs} {
		delete(properties, "configPatches")
		properties["machineConfigurationInput"] = sealed
	}
	one.Outputs["machineConfiguration"] = sealed
	delete(one.Outputs, rawStateDelta)
	return nil
}
