package drift

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// rawStateDelta is what a bridged provider keeps beside the outputs, to make of them what it had itself. It does not fit outputs
// that were edited; without it they are taken as they are (pulumi-terraform-bridge v3.116.0, pkg/tfbridge/rawstate.go, Recover).
const rawStateDelta = "__pulumi_raw_state_delta"

// AppliedConfiguration is the machine configuration that a node was given last, as the state has it.
type AppliedConfiguration struct {
	// URN of the resource.
	URN resource.URN
	// Text with all patches, as the provider noted it. Secret.
	Text []byte
}

// Applied are the machine configurations that were applied last, by the address of their node. The state must be one with
// its secrets in clear.
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

// Note writes what a node really runs into the state, as a refresh would if the provider read it: its Read does nothing
// (terraform-provider-talos v0.10.1, pkg/talos/talos_machine_configuration_apply_resource.go). The engine then plans an
// update like any other. The configuration takes the place of the one that was given and of its patches, which would else
// hide what was changed in the same places.
func Note(deployment *apitype.DeploymentV3, configuration resource.URN, running []byte) error {
	at := slices.IndexFunc(deployment.Resources, func(one apitype.ResourceV3) bool {
		return one.URN == configuration && !one.Delete
	})
	if at < 0 {
		return nil // it has left the state meanwhile, and is made anew
	}
	one := &deployment.Resources[at]
	given, err := engine.Unseal(one.Inputs["machineConfigurationInput"])
	if err != nil {
		return err
	}
	text, _ := given.(string)
	// It is the same machine as before, so its mark stays.
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
