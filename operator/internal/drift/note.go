package drift

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// rawStateDelta is a property that a bridged provider stores beside the outputs, to restore its own form of the state. It does not
// fit edited outputs; without it the outputs are used as they are (pulumi-terraform-bridge v3.116.0, pkg/tfbridge/rawstate.go,
// Recover).
const rawStateDelta = "__pulumi_raw_state_delta"

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
	text, _, err := propertymap.PlainText(one.Inputs, state.PropertyConfiguration)
	if err != nil {
		return err
	}
	// It is the same machine as before, so its birth identifier stays.
	sealed, err := propertymap.Seal(machineconfig.WithBirth(string(running), machineconfig.BirthIn(text)))
	if err != nil {
		return err
	}
	for _, properties := range []map[string]any{one.Inputs, one.Outputs} {
		delete(properties, "configPatches")
		properties[state.PropertyConfiguration] = sealed
	}
	one.Outputs["machineConfiguration"] = sealed
	delete(one.Outputs, rawStateDelta)
	return nil
}
