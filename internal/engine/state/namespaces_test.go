package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
)

func TestNamespacesOfTheState(t *testing.T) {
	t.Parallel()
	object := func(kind string, inputs map[string]any) apitype.ResourceV3 {
		return apitype.ResourceV3{Type: tokens.Type(kind), Inputs: inputs}
	}
	gone := object("kubernetes:core/v1:Secret", map[string]any{"metadata": map[string]any{"namespace": "former"}})
	gone.Delete = true
	require.Equal(t, []string{"democratic-csi", "flux-system"}, state.Namespaces(apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		object("kubernetes:core/v1:Namespace", map[string]any{"metadata": map[string]any{"name": "flux-system"}}),
		object("kubernetes:core/v1:Secret", map[string]any{"metadata": map[string]any{"namespace": "flux-system", "name": "source"}}),
		object("kubernetes:helm.sh/v3:Release", map[string]any{"namespace": "flux-system"}),
		object("kubernetes:helm.sh/v3:Release", map[string]any{"namespace": "democratic-csi"}),
		object("pulumi:providers:kubernetes", map[string]any{"namespace": "default"}),
		gone,
	}}))
}
