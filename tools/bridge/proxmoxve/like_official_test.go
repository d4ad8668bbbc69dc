package proxmoxve_test

import (
	"testing"

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/proxmoxve"
	"github.com/em-infra/em-infra/tools/internal/official"
)

// TestInputsAndStatesAreTheOfficialOnes: a state of the official plugin is no change for this plugin, and vice versa.
func TestInputsAndStatesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	official.Hold(t, start(t), "testdata/official-6.18.1.json")
}

// TestStatesOfAnEarlierBuildAreNoChange: another build of the plugin does not reboot existing clusters.
func TestStatesOfAnEarlierBuildAreNoChange(t *testing.T) {
	t.Parallel()
	official.Hold(t, start(t), "testdata/earlier-build.json")
}

func start(t *testing.T) pulumirpc.ResourceProviderServer {
	t.Helper()
	schema, err := proxmoxve.Schema("6.18.1")
	require.NoError(t, err)
	return official.Start(t, pf.MakeMuxedServer(t.Context(), proxmoxve.Name, proxmoxve.Provider("6.18.1"), schema))
}
