package plan_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

// TestAFingerprintIsThatOfWhatIsDone: it changes with each operation and value, and not with what may differ between two previews of the same plan.
func TestAFingerprintIsThatOfWhatIsDone(t *testing.T) {
	t.Parallel()
	planned := func(edit func(*plan.Step)) []plan.Step {
		step := plan.Step{
			Op: apitype.OpUpdate, URN: "urn:pulumi:k3s-dev::em-infra::proxmoxve:VM/virtualMachine:VirtualMachine::w-1-vm", Changed: []string{"memory"},
			Old: map[string]any{"memory": 4096.0}, New: map[string]any{"memory": 8192.0, "smbios": map[string]any{"uuid": "1"}},
		}
		edit(&step)
		return []plan.Step{step, {Op: apitype.OpSame, URN: "urn:pulumi:k3s-dev::em-infra::pulumi:pulumi:Stack::k3s-dev"}}
	}
	fingerprint := func(steps []plan.Step, also any) string {
		found, err := plan.Fingerprint(steps, also)
		require.NoError(t, err)
		require.Regexp(t, `^[0-9a-f]{16}$`, found)
		return found
	}
	reviewed := fingerprint(planned(func(*plan.Step) {}), "1 REBOOT")
	for name, other := range map[string]struct {
		edit func(*plan.Step)
		also any
		same bool
	}{
		"the same":                   {edit: func(*plan.Step) {}, also: "1 REBOOT", same: true},
		"another birth identifier":   {edit: func(s *plan.Step) { s.New["smbios"] = map[string]any{"uuid": "2"} }, also: "1 REBOOT", same: true},
		"a note of the bridge":       {edit: func(s *plan.Step) { s.New["__defaults"] = []any{} }, also: "1 REBOOT", same: true},
		"another value":              {edit: func(s *plan.Step) { s.New["memory"] = 16384.0 }, also: "1 REBOOT"},
		"another property":           {edit: func(s *plan.Step) { s.Changed = []string{"cpu"} }, also: "1 REBOOT"},
		"another operation":          {edit: func(s *plan.Step) { s.Op = apitype.OpReplace }, also: "1 REBOOT"},
		"another resource":           {edit: func(s *plan.Step) { s.URN += "2" }, also: "1 REBOOT"},
		"a change by hand":           {edit: func(s *plan.Step) { s.ByHand = []string{"machine.sysctls"} }, also: "1 REBOOT"},
		"another meaning":            {edit: func(*plan.Step) {}, also: "1 CHANGE"},
		"nothing, with that meaning": {edit: func(s *plan.Step) { s.Op = apitype.OpSame }, also: "1 REBOOT"},
	} {
		if other.same {
			require.Equal(t, reviewed, fingerprint(planned(other.edit), other.also), name)
		} else {
			require.NotEqual(t, reviewed, fingerprint(planned(other.edit), other.also), name)
		}
	}
}
