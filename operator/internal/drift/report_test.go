package drift_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/drift"
)

func TestReport(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		report drift.Report
		found  bool
		text   string
	}{
		{"nothing", drift.Report{}, false, "no drift: the host and the nodes are as the inventory says\n"},
		{
			"both sides",
			drift.Report{
				Host:  []drift.Difference{{"k3s-dev-worker-1-vm", "memory.dedicated", "8192", "4096"}},
				Nodes: []drift.Difference{{"k3s-dev-worker-1", "configuration machine.sysctls.vm.max_map_count", "262144", ""}},
			},
			true,
			`WHAT                 PROPERTY                          WANTED  FOUND
k3s-dev-worker-1-vm  memory.dedicated                  8192    4096
k3s-dev-worker-1     configuration                     262144  -
                     machine.sysctls.vm.max_map_count
`,
		},
		{
			"a node that was upgraded by hand",
			drift.Report{
				Nodes:    []drift.Difference{{"k3s-dev-worker-1", "Talos", "v1.12.4", "v1.13.9"}},
				Upgrades: []string{"Talos v1.13.9 → v1.12.4 is a downgrade (k3s-dev-worker-1 runs v1.13.9): set talos.version to v1.13.9 or later, or go back with `em-infra node rollback` where the last upgrade came from v1.12.4"},
			},
			true,
			`WHAT              PROPERTY  WANTED   FOUND
k3s-dev-worker-1  Talos     v1.12.4  v1.13.9
upgrade: Talos v1.13.9 → v1.12.4 is a downgrade (k3s-dev-worker-1 runs v1.13.9): set talos.version to v1.13.9 or later, or go back with ` + "`em-infra node rollback`" + ` where the last upgrade came from v1.12.4
`,
		},
		{
			"a node that does not answer",
			drift.Report{Unread: []string{"k3s-dev-worker-1: its Talos API does not answer"}},
			false,
			"not read: k3s-dev-worker-1: its Talos API does not answer\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			require.NoError(t, test.report.WriteText(&text))
			require.Equal(t, test.text, text.String())
			require.Equal(t, test.found, test.report.Found())
		})
	}
}
