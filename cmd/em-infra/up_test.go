package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// running returns the status of a cluster with a release of Kubernetes. nodes are the name of each node and its release of Talos.
func running(t *testing.T, kubernetes string, nodes ...string) (report operator.StatusReport) {
	t.Helper()
	var machines []map[string]any
	for i := 0; i < len(nodes); i += 2 {
		machines = append(machines, map[string]any{
			"name": nodes[i], "node": map[string]any{"talos": nodes[i+1]}, "kubernetes": map[string]any{"kubelet": kubernetes},
		})
	}
	text, err := json.Marshal(map[string]any{"machines": machines})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &report))
	return report
}

func TestSummary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	printSummary(&out, &operator.UpResult{
		Outputs: stacks.Outputs{
			ClusterName: "lab", KubernetesEndpoint: "https://127.20.20.10:6443",
			Kubeconfig: "made up kubeconfig", Talosconfig: "made up talosconfig",
		},
		Report:     running(t, "v1.35.4", "lab-cp-1", "v1.12.4"),
		Kubeconfig: dir + "/kubeconfig", Talosconfig: dir + "/talosconfig", Took: 21340 * time.Millisecond,
	}, "--stack k3s-dev --lab")
	require.Equal(t, []string{
		"", "lab is up in 21.3s · https://127.20.20.10:6443",
		"  runs         Kubernetes v1.35.4 · Talos v1.12.4",
		"  kubeconfig   " + dir + "/kubeconfig",
		"  talosconfig  " + dir + "/talosconfig",
		"next:",
		"  kubectl --kubeconfig " + dir + "/kubeconfig get nodes",
		"  em-infra status --stack k3s-dev --lab",
		"  em-infra destroy --stack k3s-dev --lab",
		"",
	}, strings.Split(out.String(), "\n"))
	require.NotContains(t, out.String(), "made up")
}

// TestTheHeadlineIsWhatTheNodesRun: the inventory asks for a release that no run installs.
func TestTheHeadlineIsWhatTheNodesRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printSummary(&out, &operator.UpResult{Outputs: stacks.Outputs{ClusterName: "lab"}, Report: running(
		t, "v1.35.3", "lab-cp-1", "v1.12.3", "lab-w-1", "v1.12.5", "lab-w-2", "v1.12.3",
	)}, "--stack k3s-dev --lab")
	require.Contains(t, out.String(), "\n  runs         Kubernetes v1.35.3 · Talos v1.12.3 on lab-cp-1, lab-w-2 and v1.12.5 on lab-w-1\n")
}

// TestWhatIsLeftToAPerson: after the run of a stack of hosts, the commands that no API can carry out stand before the next steps.
func TestWhatIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	left := operator.Checks{{
		Name: "mapping", Result: operator.CheckWarning, Sentence: "PCI 0000:01:00.0 on vmhost is in no IOMMU group: the IOMMU is off",
		Remedy: "do this on vmhost as root", Commands: []string{"# in the setup of the firmware: turn on AMD-Vi", "reboot"},
	}}
	for _, test := range []struct {
		left operator.Checks
		want string
	}{
		{nil, ""},
		{left, "left for you:\n warn  PCI 0000:01:00.0 on vmhost is in no IOMMU group: the IOMMU is off\n       → do this on vmhost as root\n" +
			"         # in the setup of the firmware: turn on AMD-Vi\n         reboot\n"},
	} {
		var out bytes.Buffer
		printLayerUp(&out, "site-hosts", &operator.UpResult{ByHand: test.left, Took: 3210 * time.Millisecond}, "--stack site-hosts")
		require.Equal(t, "\nsite-hosts is up in 3.2s\n"+test.want+"next:\n  em-infra status --stack site-hosts\n  em-infra destroy --stack site-hosts\n", out.String())
		out.Reset()
		require.NoError(t, printSummary(&out, &operator.UpResult{ByHand: test.left, Report: running(t, "v1.35.4", "cp-1", "v1.12.4")}, "--stack k3s-dev"))
		require.Contains(t, out.String(), "  talosconfig  \n"+test.want+"next:\n")
	}
}

func TestPhasesAreNamed(t *testing.T) {
	t.Parallel()
	options, err := (&phaseFlags{until: "provision"}).options()
	require.NoError(t, err)
	require.Equal(t, operator.UpOptions{Until: phase.Provision}, options)
	options, err = (&phaseFlags{only: "addons"}).options()
	require.NoError(t, err)
	require.Equal(t, operator.UpOptions{Only: phase.Addons}, options)
	_, err = (&phaseFlags{until: "boot"}).options()
	require.EqualError(t, err, `"boot" is no phase: choose one of generate, provision, bootstrap, addons, verify`)
}
