package recovery_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	stored "github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

func secretsOnly() *apitype.DeploymentV3 {
	return &apitype.DeploymentV3{Resources: []apitype.ResourceV3{{
		URN:      "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/secrets:Secrets::k3s-dev-secrets",
		Type:     "talos:machine/secrets:Secrets",
		Parent:   "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster::k3s-dev",
		Provider: "urn:pulumi:k3s-dev::em-infra::pulumi:providers:talos::talos::1234",
		Outputs: map[string]any{"clientConfiguration": map[string]any{
			"caCertificate":     "authority",
			"clientCertificate": "certificate",
			"clientKey": map[string]any{
				resource.SigKey: resource.SecretSig, "plaintext": `"made up"`,
			},
		}},
	}}}
}

func TestF6AdoptBootstrap(t *testing.T) {
	t.Parallel()

	deployment := secretsOnly()
	credentials, err := recovery.CredentialsOf(stored.Unbootstrapped(*deployment))
	require.NoError(t, err)
	require.Equal(t, recovery.Credentials{CA: "authority", Certificate: "certificate", Key: "made up"}, credentials)

	recovery.AdoptBootstrap(deployment, "k3s-dev-bootstrap", "192.168.20.11")
	require.Len(t, deployment.Resources, 2)
	adopted := deployment.Resources[1]
	require.Equal(t, "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/bootstrap:Bootstrap::k3s-dev-bootstrap", string(adopted.URN))
	require.Equal(t, "machine_bootstrap", string(adopted.ID))
	require.Equal(t, deployment.Resources[0].Provider, adopted.Provider)
	require.Equal(t, deployment.Resources[0].Parent, adopted.Parent)
	require.Equal(t, "192.168.20.11", adopted.Inputs["node"])
	require.Equal(t, `{"schema_version":"1"}`, adopted.Outputs["__meta"], "without, the bridge takes it for an older one and cannot refresh it")
	require.Nil(t, stored.Unbootstrapped(*deployment), "it is adopted once")
	require.False(t, recovery.CompleteBootstrap(deployment), "it is complete")

	delete(adopted.Outputs, "__meta") // as earlier releases adopted it
	require.True(t, recovery.CompleteBootstrap(deployment))
	require.Equal(t, `{"schema_version":"1"}`, deployment.Resources[1].Outputs["__meta"])
}

func TestCredentialsOfNamesNoSecret(t *testing.T) {
	t.Parallel()

	deployment := secretsOnly()
	deployment.Resources[0].Outputs["clientConfiguration"] = map[string]any{resource.SigKey: resource.SecretSig, "plaintext": "not JSON: made up"}
	_, err := recovery.CredentialsOf(&deployment.Resources[0])
	require.EqualError(t, err, "client credentials in the state: a secret in the state is not in clear: export it with its secrets")
}
