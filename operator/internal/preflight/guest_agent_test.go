package preflight_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestThePrivilegeForGuestAgentsIsAskedForWhereThereAreSome: images without the guest agent do not need its privilege. For images
// with the agent, preflight reports the missing privilege.
func TestThePrivilegeForGuestAgentsIsAskedForWhereThereAreSome(t *testing.T) {
	t.Parallel()
	for release, privilege := range map[schema.Release]string{schema.Release84: "VM.Monitor", schema.Release91: "VM.GuestAgent.Audit"} {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			of, err := role.ParseRelease(string(release))
			require.NoError(t, err)
			config := emulatedConfig(release)
			config.Tokens[0].Privileges = role.Need{Release: of}.Privileges()
			subject, _ := emulate(t, config)

			report, err := preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			require.Len(t, report.Unsound(), 1)
			require.Equal(t, "token ops@pve!k8s lacks "+privilege+" on /vms/101, /vms/102, /vms/103", report.Unsound()[0].Sentence)

			subject.Inventory = inventoryOf(t, strings.Replace(clusterYAML, "siderolabs/qemu-guest-agent", "", 1), nodesYAML)
			report, err = preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			require.Empty(t, report.Unsound())
		})
	}
}
