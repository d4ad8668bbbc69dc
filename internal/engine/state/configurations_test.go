package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

func configuration(name string, inputs, outputs properties) apitype.ResourceV3 {
	return of(token.Configuration, name+"-configuration", inputs, outputs)
}

func TestAppliedConfigurations(t *testing.T) {
	t.Parallel()
	applied, err := state.AppliedConfigurations(deployment(
		configuration("cp-1", nil, properties{"node": "192.168.20.11", "machineConfiguration": sealed(t, "first")}),
		configuration("cp-2", nil, properties{"node": "192.168.20.12"}),
		replaced(configuration("cp-3", nil, properties{"node": "192.168.20.13", "machineConfiguration": sealed(t, "third")})),
	))
	require.NoError(t, err)
	require.Equal(t, map[string]state.AppliedConfiguration{
		"192.168.20.11": {URN: urn(token.Configuration, "cp-1-configuration"), Text: []byte("first")},
	}, applied)

	_, err = state.AppliedConfigurations(deployment(configuration("cp-1", nil, properties{"machineConfiguration": encrypted()})))
	require.Equal(t, propertymap.ErrSealed, err)
}

func TestGivenConfigurations(t *testing.T) {
	t.Parallel()
	given, err := state.GivenConfigurations(deployment(
		configuration("cp-1", properties{"machineConfigurationInput": sealed(t, "first")}, nil),
		configuration("cp-2", nil, nil),
		replaced(configuration("cp-3", properties{"machineConfigurationInput": sealed(t, "third")}, nil)),
		of(token.VirtualMachine, "cp-1-vm", nil, nil),
	))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cp-1": "first"}, given)

	_, err = state.GivenConfigurations(deployment(configuration("cp-1", properties{"machineConfigurationInput": encrypted()}, nil)))
	require.Equal(t, propertymap.ErrSealed, err)
}

func TestConfiguredMachines(t *testing.T) {
	t.Parallel()
	node := func(name, address string) []apitype.ResourceV3 {
		component := of(token.TalosNode, name, nil, nil)
		return []apitype.ResourceV3{component, below(component.URN, machine(name, 101.0)), below(component.URN, configuration(name, properties{"node": address}, nil))}
	}
	d := deployment(append(node("cp-1", "192.168.20.11"), node("w-1", "192.168.20.21")...)...)
	d.Resources = append(d.Resources, node("w-2", "192.168.20.22")[:2]...)                            // without a configuration
	d.Resources = append(d.Resources, configuration("w-3", properties{"node": "192.168.20.23"}, nil)) // without a machine
	d.Resources = append(d.Resources, of(token.Command, "cp-1-membership", nil, nil))                 // has joined
	d.Resources = append(d.Resources, waiting(of(token.Command, "w-1-membership", nil, nil)))         // has left, to be replaced
	require.Equal(t, []state.ConfiguredMachine{
		{Name: "cp-1", Address: "192.168.20.11", Joined: true, Configuration: urn(token.Configuration, "cp-1-configuration")},
		{Name: "w-1", Address: "192.168.20.21", Configuration: urn(token.Configuration, "w-1-configuration")},
	}, state.ConfiguredMachines(d))
}

func TestConfigurationOf(t *testing.T) {
	t.Parallel()
	d := deployment(waiting(configuration("w-1", nil, nil)), configuration("w-2", nil, nil))
	require.Nil(t, state.ConfigurationOf(d, urn(token.VirtualMachine, "w-1-vm")))
	require.Same(t, &d.Resources[1], state.ConfigurationOf(d, urn(token.VirtualMachine, "w-2-vm")))
}
