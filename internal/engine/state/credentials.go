package state

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// ClusterCredentials are those of the cluster in a deployment with its secrets in clear; empty where there is none yet. The stack has
// them as its outputs only once a run has come to its end.
func ClusterCredentials(deployment apitype.DeploymentV3) (kubeconfig, talosconfig string, err error) {
	for cluster := range Every(deployment, token.TalosCluster) {
		plain, err := propertymap.Unseal(cluster.Outputs)
		if err != nil {
			return "", "", err
		}
		outputs, _ := plain.(map[string]any)
		kubeconfig, talosconfig = propertymap.Text(outputs, "kubeconfig"), propertymap.Text(outputs, "talosconfig")
	}
	return kubeconfig, talosconfig, nil
}
