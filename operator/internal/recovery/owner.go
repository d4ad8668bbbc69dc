package recovery

import (
	"errors"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
)

// OwnerOf returns the owner of the machines of a deployment with secrets in plain text. Its cluster is empty if the deployment has
// no machine secrets yet.
func OwnerOf(stack string, deployment *apitype.DeploymentV3) (ownership.Owner, error) {
	owner := ownership.Owner{Stack: stack}
	at := slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == token.Secrets && !r.Delete })
	if at < 0 {
		return owner, nil
	}
	plain, err := engine.Unseal(deployment.Resources[at].Outputs["machineSecrets"])
	if err != nil {
		return owner, err
	}
	secrets, _ := plain.(map[string]any)
	cluster, _ := secrets["cluster"].(map[string]any)
	id, isText := cluster["id"].(string)
	if !isText {
		return owner, errors.New("the machine secrets in the state hold no ID of the cluster: restore the state from a backup")
	}
	owner.Cluster = ownership.Short(id)
	return owner, nil
}

// PastOwners returns the owners in the machine descriptions of earlier states, newest first. Unlike the secrets in a backup, the
// descriptions are in plain text.
func PastOwners(stack string, past []Past) []ownership.Owner {
	var owners []ownership.Owner
	for _, one := range past {
		for _, machine := range one.Deployment.Resources {
			description, _ := machine.Inputs["description"].(string)
			owner, isMarked := ownership.In(description)
			if isMarked && machine.Type == token.VirtualMachine && owner.Stack == stack && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	return owners
}

// KnownVMIDs returns the VMIDs of a deployment's machines and of its pending creations.
func KnownVMIDs(deployment *apitype.DeploymentV3) []int {
	var known []int
	for _, machine := range deployment.Resources {
		if machine.Type == token.VirtualMachine && !machine.Delete {
			known = append(known, vmidOf(machine))
		}
	}
	for _, operation := range deployment.PendingOperations {
		if operation.Resource.Type == token.VirtualMachine {
			known = append(known, vmidOf(operation.Resource))
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}
