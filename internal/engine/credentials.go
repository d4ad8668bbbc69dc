package engine

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// ClusterCredentials are those of the cluster in a deployment with its secrets in clear; empty where there is none yet. The stack has
// them as its outputs only once a run has come to its end.
func ClusterCredentials(deployment apitype.DeploymentV3) (kubeconfig, talosconfig string, err error) {
	for _, resource := range deployment.Resources {
		if resource.Type != token.TalosCluster {
			continue
		}
		plain, err := Unseal(resource.Outputs)
		if err != nil {
			return "", "", err
		}
		outputs, _ := plain.(map[string]any)
		kubeconfig, _ = outputs["kubeconfig"].(string)
		talosconfig, _ = outputs["talosconfig"].(string)
	}
	return kubeconfig, talosconfig, nil
}
