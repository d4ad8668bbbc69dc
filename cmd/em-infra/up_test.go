package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/status"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	printSummary(&out, &operator.UpResult{
		Outputs: stacks.Outputs{
			ClusterName: "lab", KubernetesEndpoint: "https://127.20.20.10:6443",
			Kubeconfig: "made up kubeconfig", Talosconfig: "made up talosconfig",
		},
		Report: status.Report{Machines: []status.Machine{{Name: "lab-cp-1",
			Node: &nodeops.Observation{Talos: "v1.12.4"}, Kubernetes: &status.KubernetesNode{Kubelet: "v1.35.4"}}}},
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
	machine := func(name, talos string) status.Machine {
		return status.Machine{Name: name, Node: &nodeops.Observation{Talos: talos}, Kubernetes: &status.KubernetesNode{Kubelet: "v1.35.3"}}
	}
	printSummary(&out, &operator.UpResult{Outputs: stacks.Outputs{ClusterName: "lab"}, Report: status.Report{Machines: []status.Machine{
		machine("lab-cp-1", "v1.12.3"), machine("lab-w-1", "v1.12.5"), machine("lab-w-2", "v1.12.3"),
	}}}, "--stack k3s-dev --lab")
	require.Contains(t, out.String(), "\n  runs         Kubernetes v1.35.3 · Talos v1.12.3 on lab-cp-1, lab-w-2 and v1.12.5 on lab-w-1\n")
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
