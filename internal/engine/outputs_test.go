package engine_test

import (
	"crypto/rand"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

func TestOutputsAreThoseOfTheStack(t *testing.T) {
	t.Parallel()
	token := rand.Text()
	sealed, err := propertymap.Seal(token)
	require.NoError(t, err)
	outputs, err := engine.Outputs(apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{Type: "em-infra:index:TalosCluster", Outputs: map[string]any{"kubeconfig": "of the component"}},
		{Type: "pulumi:pulumi:Stack", Outputs: map[string]any{"name": "k3s-dev", "token": sealed}},
	}})
	require.NoError(t, err)
	require.Equal(t, auto.OutputMap{
		"name":  {Value: "k3s-dev"},
		"token": {Value: token, Secret: true},
	}, outputs)

	outputs, err = engine.Outputs(apitype.DeploymentV3{})
	require.NoError(t, err)
	require.Empty(t, outputs)
}
