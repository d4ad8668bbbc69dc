package recovery

import (
	"errors"
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/phase"
)

const propertyConfiguration = "machineConfigurationInput"

// Configured is a machine that has its configuration, as the state says.
type Configured struct {
	// Name of the machine.
	Name string
	// Address where its Talos API is reached.
	Address string
	// Joined says that it was seen as a member of the cluster.
	Joined bool

	configuration resource.URN
}

// ConfiguredMachines are those of a deployment, in its order.
func ConfiguredMachines(deployment *apitype.DeploymentV3) []Configured {
	var found []Configured
	for _, configuration := range deployment.Resources {
		if configuration.Type != token.Configuration || configuration.Delete {
			continue
		}
		machine := machineOf(deployment, configuration.Parent)
		if machine == nil {
			continue
		}
		name, _ := machine.Inputs["name"].(string)
		address, _ := configuration.Inputs["node"].(string)
		found = append(found, Configured{Name: name, Address: address, Joined: hasJoined(deployment, *machine), configuration: configuration.URN})
	}
	return found
}

// machineOf is the virtual machine of a node; nil when there is none.
func machineOf(deployment *apitype.DeploymentV3, node resource.URN) *apitype.ResourceV3 {
	for i, r := range deployment.Resources {
		if r.Type == token.VirtualMachine && r.Parent == node && !r.Delete {
			return &deployment.Resources[i]
		}
	}
	return nil
}

// Unapply notes in a deployment that a machine's configuration was applied to a machine that is gone, by a note behind its
// last line: the next run applies it again. The machine itself stays as it is in the state; the provider refuses to read one
// that was edited (pulumi-terraform-bridge v3.116.0, tfbridge/schema.go, makeTerraformStateViaUpgrade). The error is that of a
// configuration that is not in clear.
func Unapply(deployment *apitype.DeploymentV3, node Configured) error {
	for i := range deployment.Resources {
		r := &deployment.Resources[i]
		if r.URN != node.configuration || r.Delete {
			continue
		}
		inputs, err := unapplied(r.Inputs)
		if err != nil {
			return err
		}
		outputs, err := unapplied(r.Outputs)
		if err != nil {
			return err
		}
		r.Inputs, r.Outputs = inputs, outputs
	}
	return nil
}

// unapplied are properties of a configuration whose machine has lost it.
func unapplied(properties map[string]any) (map[string]any, error) {
	plain, err := engine.Unseal(properties[propertyConfiguration])
	if err != nil {
		return nil, err
	}
	text, isText := plain.(string)
	if !isText {
		return nil, errors.New("the state holds a configuration that is no text: restore the state from a backup")
	}
	sealed, err := engine.Seal(machineconfig.WithBirth(text, machineconfig.NoBirth))
	if err != nil {
		return nil, err
	}
	copied := maps.Clone(properties)
	copied[propertyConfiguration] = sealed
	return copied, nil
}

// LoseCluster forgets what was in a cluster of which nobody has the etcd data any more: its bootstrap, and what was installed
// in it, with the provider that would take the new cluster for unreachable all through the run, as it begins before that
// answers. The next run makes all of it again. It changes the deployment, and returns how many resources were forgotten.
func LoseCluster(deployment *apitype.DeploymentV3) int {
	var lost []resource.URN
	for _, r := range deployment.Resources {
		if r.Custom && (r.Type == token.Bootstrap || phase.Of(r.URN) == phase.Addons) {
			lost = append(lost, r.URN)
		}
	}
	for _, urn := range lost {
		forget(deployment, urn)
	}
	return len(lost)
}
