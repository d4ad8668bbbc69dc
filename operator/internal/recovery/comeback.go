package recovery

import (
	"errors"
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/phase"
)

// Unapply marks a machine's configuration in a deployment as applied to a machine that no longer exists, by a note after its last
// line, so that the next run applies it again. It does not change the machine's own entry, because the provider refuses to read an
// edited one (pulumi-terraform-bridge v3.116.0, tfbridge/schema.go, makeTerraformStateViaUpgrade). It returns an error if the
// configuration is not in plain text.
func Unapply(deployment *apitype.DeploymentV3, node state.ConfiguredMachine) error {
	for i := range deployment.Resources {
		r := &deployment.Resources[i]
		if r.URN != node.Configuration || r.Delete {
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

// unapplied returns the properties of a configuration with that note.
func unapplied(properties map[string]any) (map[string]any, error) {
	text, isText, err := propertymap.PlainText(properties, state.PropertyConfiguration)
	if err != nil {
		return nil, err
	}
	if !isText {
		return nil, errors.New("the state holds a configuration that is no text: restore the state from a backup")
	}
	sealed, err := propertymap.Seal(machineconfig.WithBirth(text, machineconfig.NoBirth))
	if err != nil {
		return nil, err
	}
	copied := maps.Clone(properties)
	copied[state.PropertyConfiguration] = sealed
	return copied, nil
}

// LoseCluster removes from a deployment what was in a cluster whose etcd data is lost: its bootstrap, and what was installed in it.
// That includes the Kubernetes provider: it starts before the new cluster answers, and would treat it as unreachable during the
// whole run. The next run creates all of it again. LoseCluster changes the deployment and returns the number of removed resources.
func LoseCluster(deployment *apitype.DeploymentV3) int {
	var lost []resource.URN
	for _, r := range deployment.Resources {
		if r.Custom && (r.Type == token.Bootstrap || phase.Of(r.URN) == phase.Addons) {
			lost = append(lost, r.URN)
		}
	}
	for _, urn := range lost {
		Forget(deployment, urn)
	}
	return len(lost)
}
