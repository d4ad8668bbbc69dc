package state

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// PropertyConfiguration is the input of a configuration with the machine configuration that the program gave it, a secret.
const PropertyConfiguration = "machineConfigurationInput"

// AppliedConfiguration is the machine configuration that was last applied to a node.
type AppliedConfiguration struct {
	// URN is the URN of the resource.
	URN resource.URN
	// Text is the configuration with all patches, as recorded by the provider. Secret.
	Text []byte
}

// AppliedConfigurations returns the machine configurations that were last applied, by the address of their node. The state must have
// its secrets in plain text.
func AppliedConfigurations(deployment apitype.DeploymentV3) (map[string]AppliedConfiguration, error) {
	applied := map[string]AppliedConfiguration{}
	for one := range Current(deployment, token.Configuration) {
		text, isText, err := propertymap.PlainText(one.Outputs, "machineConfiguration")
		if err != nil {
			return nil, err
		}
		if isText { // else its creation was interrupted
			applied[propertymap.Text(one.Outputs, propertyNode)] = AppliedConfiguration{URN: one.URN, Text: []byte(text)}
		}
	}
	return applied, nil
}

// GivenConfigurations returns the machine configurations that the program gave to the nodes, by the node's logical name. They contain
// secrets. The state must have its secrets in plain text.
func GivenConfigurations(deployment apitype.DeploymentV3) (map[string]string, error) {
	given := map[string]string{}
	for one := range Current(deployment, token.Configuration) {
		text, isText, err := propertymap.PlainText(one.Inputs, PropertyConfiguration)
		if err != nil {
			return nil, err
		}
		if isText { // else its creation was interrupted
			given[nodeOf(one.URN, suffixConfiguration)] = text
		}
	}
	return given, nil
}

const propertyNode = "node"

// ConfiguredMachine is a machine whose configuration is recorded in the state as applied.
type ConfiguredMachine struct {
	// Name is the machine's name.
	Name string
	// Address is the address of its Talos API.
	Address string
	// Joined reports whether it was a member of the cluster.
	Joined bool
	// Configuration is the URN of its configuration.
	Configuration resource.URN
}

// ConfiguredMachines returns the configured machines, in the order of the state.
func ConfiguredMachines(deployment apitype.DeploymentV3) []ConfiguredMachine {
	var found []ConfiguredMachine
	for configuration := range Current(deployment, token.Configuration) {
		machine := MachineOf(deployment, configuration.Parent)
		if machine == nil {
			continue
		}
		found = append(found, ConfiguredMachine{
			Name: propertymap.Text(machine.Inputs, "name"), Address: propertymap.Text(configuration.Inputs, propertyNode),
			Joined: HasJoined(deployment, machine.URN), Configuration: configuration.URN,
		})
	}
	return found
}
