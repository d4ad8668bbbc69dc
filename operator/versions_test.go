package operator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
)

// versionsOf returns the report about an inventory, whose nodes run what is given by their names.
func versionsOf(t *testing.T, fixture string, answers map[string]nodeops.Observation) *operator.VersionReport {
	t.Helper()
	inv, err := inventory.Load("../internal/inventory/testdata/" + fixture)
	require.NoError(t, err)
	var seen operator.Running
	for _, node := range inv.Nodes {
		seen.Add(node.Name, answers[node.Name])
	}
	report, err := operator.SupportedVersions()
	require.NoError(t, err)
	report.Cluster, err = operator.CompareVersions(inv, seen)
	require.NoError(t, err)
	return report
}

func TestVersionsOfACluster(t *testing.T) {
	t.Parallel()
	node := func(talos, kubelet, server string) nodeops.Observation {
		return nodeops.Observation{Talos: talos, Kubelet: kubelet, APIServer: server}
	}
	for name, test := range map[string]struct {
		fixture string
		answers map[string]nodeops.Observation
		unread  []string
		text    string
	}{
		"as the inventory says": {
			fixture: "valid-minimal", answers: map[string]nodeops.Observation{"cp-1": node("v1.12.4", "v1.35.4", "v1.35.4"), "w-1": node("v1.12.4", "v1.35.4", "")},
			text: `TALOS  LATEST    KUBERNETES      DEFAULT
v1.14  v1.14.1   v1.32 to v1.37  v1.37.0
v1.13  v1.13.9   v1.31 to v1.36  v1.36.3
v1.12  v1.12.11  v1.30 to v1.35  v1.35.4

later patch releases are supported, too; contracts v1.0 to v1.12

lab
 wanted   Talos v1.12.4, Kubernetes v1.35.4
 runs     Talos v1.12.4, Kubernetes v1.35.4 on cp-1, w-1
 next     talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.1 → kubernetes.version v1.37.0, with an up after each
 at v1.13 from Talos v1.13 on, clients of v1.12 cannot read EtcdConfigs, KubeletConfigs, APIServerConfigs, ControllerManagerConfigs and SchedulerConfigs: use those of v1.13
`,
		},
		"an upgrade that stopped, and a node that does not answer": {
			fixture: "valid-talos-1-13", answers: map[string]nodeops.Observation{"cp-1": node("v1.13.9", "v1.35.4", "v1.36.3")}, unread: []string{"w-1: it does not answer"},
			text: `TALOS  LATEST   KUBERNETES      DEFAULT
v1.14  v1.14.1  v1.32 to v1.37  v1.37.0
v1.13  v1.13.9  v1.31 to v1.36  v1.36.3

later patch releases are supported, too; contracts v1.0 to v1.12

lab
 wanted   Talos v1.13.9, Kubernetes v1.36.3
 runs     Talos v1.13.9, Kubernetes v1.35.4 with API server v1.36.3 on cp-1
 next     talos.version v1.14.1 → kubernetes.version v1.37.0, with an up after each
 unread   w-1: it does not answer
`,
		},
		"what up would refuse": {
			fixture: "valid-talos-1-14", answers: map[string]nodeops.Observation{"cp-1": node("v1.12.4", "v1.35.4", "v1.35.4"), "w-1": node("v1.12.4", "v1.35.4", "")},
			text: `TALOS  LATEST    KUBERNETES      DEFAULT
v1.14  v1.14.1   v1.32 to v1.37  v1.37.0
v1.13  v1.13.9   v1.31 to v1.36  v1.36.3
v1.12  v1.12.11  v1.30 to v1.35  v1.35.4

later patch releases are supported, too; contracts v1.0 to v1.12

lab
 wanted   Talos v1.14.3, Kubernetes v1.37.0
 runs     Talos v1.12.4, Kubernetes v1.35.4 on cp-1, w-1
 refused  Talos v1.12.4 → v1.14.3 skips v1.13 (cp-1, w-1 run v1.12.4): go talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.3 → kubernetes.version v1.37.0, with an up after each
 refused  Kubernetes v1.35.4 → v1.37.0 skips v1.36 (cp-1, w-1 run v1.35.4): go talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.3 → kubernetes.version v1.37.0, with an up after each
 next     nothing newer is known
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := versionsOf(t, test.fixture, test.answers)
			report.Cluster.Unread = test.unread
			var text strings.Builder
			require.NoError(t, report.WriteText(&text))
			require.Equal(t, test.text, text.String())
		})
	}
}
