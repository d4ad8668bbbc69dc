package stacks_test

import (
	"testing"

	pulumiworkspace "github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/stacks"
)

// TestProjectFile compares Pulumi.yaml with the program: its defaults equal the program's, and it does not declare a key for
// which the program has its own error message.
func TestProjectFile(t *testing.T) {
	t.Parallel()
	project, err := pulumiworkspace.LoadProject("../Pulumi.yaml")
	require.NoError(t, err)
	require.Equal(t, "go", project.Runtime.Name())
	require.Equal(t, "file://./.state", project.Backend.URL)
	require.Equal(t, "always", project.Options.Refresh)
	require.Equal(t, []any{"*"}, project.Config["pulumi:disable-default-providers"].Value)

	insecure, factory := project.Config[stacks.Key(stacks.KeyProxmoxInsecure)], project.Config[stacks.Key(stacks.KeyImageFactoryURL)]
	require.Equal(t, "boolean", insecure.TypeName())
	require.Equal(t, false, insecure.Default)
	require.Equal(t, "string", factory.TypeName())
	require.Equal(t, components.ImageFactory, factory.Default)
	for _, key := range []string{stacks.KeyInventory, stacks.KeyProxmoxEndpoint, stacks.KeyProxmoxToken} {
		require.NotContains(t, project.Config, stacks.Key(key))
	}
}
