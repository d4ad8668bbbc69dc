package proxmoxve_test

import (
	"testing"

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/proxmoxve"
	"github.com/em-infra/em-infra/tools/internal/official"
)

// TestInputsAndStatesAreTheOfficialOnes: a state of the official plugin is no change for this one, and the other way round.
func TestInputsAndStatesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	schema, err := proxmoxve.Schema("6.18.1")
	require.NoError(t, err)
	server := official.Start(t, pf.MakeMuxedServer(t.Context(), proxmoxve.Name, proxmoxve.Provider("6.18.1"), schema))
	official.Hold(t, server, "testdata/official-6.18.1.json")
}
