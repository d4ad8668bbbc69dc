package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// TestThePluginOfTrueNASHasAGateway: it is em-infra itself, and so not among the plugins of the tool chain.
func TestThePluginOfTrueNASHasAGateway(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.NoError(t, provider.Install(home, "em-infra"))
	plugins := operator.PluginsOf(&toolchain.Installed{}, &workspace.Workspace{Home: home, Dir: "/project"}, nil)
	require.NoError(t, adoption.CheckAll(home, plugins))
	require.FileExists(t, plugins[0].Path)
	require.Equal(t, "/project", plugins[0].Dir, "the plugin may be started by go run")
}
