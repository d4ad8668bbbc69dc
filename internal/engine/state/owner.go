package state

import (
	"errors"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
)

// OwnerOf returns the owner of the machines of a deployment with secrets in plain text. Its cluster is empty if the deployment has
// no machine secrets yet.
func OwnerOf(stack string, deployment apitype.DeploymentV3) (ownership.Owner, error) {
	owner := ownership.Owner{Stack: stack}
	secrets := machineSecrets(deployment)
	if secrets == nil {
		return owner, nil
	}
	plain, err := propertymap.Unseal(secrets.Outputs["machineSecrets"])
	if err != nil {
		return owner, err
	}
	bundle, _ := plain.(map[string]any)
	id, isText := propertymap.At(bundle, "cluster.id").(string)
	if !isText {
		return owner, errors.New("the machine secrets in the state hold no ID of the cluster: restore the state from a backup")
	}
	owner.Cluster = ownership.Short(id)
	return owner, nil
}

// Owners returns the owners in the descriptions of the machines, each once, in the order of the state. Unlike the secrets, the
// descriptions are in plain text in a backup, too.
func Owners(deployment apitype.DeploymentV3) []ownership.Owner {
	var owners []ownership.Owner
	for machine := range Every(deployment, token.VirtualMachine) {
		owner, isMarked := ownership.In(propertymap.Text(machine.Inputs, "description"))
		if isMarked && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// Unbootstrapped returns the machine secrets of a deployment with machine secrets but without a bootstrap, else nil. Only such a
// cluster can be bootstrapped without a record in the state.
func Unbootstrapped(deployment apitype.DeploymentV3) *apitype.ResourceV3 {
	for range Current(deployment, token.Bootstrap) {
		return nil
	}
	return machineSecrets(deployment)
}

// MachineSecrets returns the machine secrets of a deployment; nil if it has none.
func MachineSecrets(deployment apitype.DeploymentV3) *apitype.ResourceV3 {
	return machineSecrets(deployment)
}

func machineSecrets(deployment apitype.DeploymentV3) *apitype.ResourceV3 {
	for secrets := range Current(deployment, token.Secrets) {
		return secrets
	}
	return nil
}
