package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/status"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// sessionWith is a session that got as far as a question.
func sessionWith(t *testing.T, in io.Reader, rehearsed bool) (*session, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	place := stackFlags{stack: "k3s-dev", lab: rehearsed}
	inv, err := inventory.Parse("inventory", []byte(soundCluster), []byte(soundNodes))
	require.NoError(t, err)
	return &session{
		workspace: &workspace.Workspace{Stack: "k3s-dev", Credentials: t.TempDir(), Rehearsed: rehearsed},
		inventory: inv, consent: "bring it up", place: place.place(), started: time.Now(), streams: streams{in: in, out: out, err: io.Discard},
	}, out
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, answer, err string }{
		{"the stack's name", "k3s-dev\n", ""},
		{"the stack's name, and then the end", " k3s-dev", ""},
		{"yes", "yes\n", "not confirmed; nothing was touched"},
		{"an empty line", "\n", "not confirmed; nothing was touched"},
		{"Ctrl-D", "", "not confirmed; nothing was touched"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, out := sessionWith(t, strings.NewReader(test.answer), false)
			err := s.ask(t.Context())
			require.Equal(t, "\nType the name of the stack, k3s-dev, to bring it up: ", out.String())
			require.Equal(t, test.err, errorText(err))
			if test.err != "" {
				require.Equal(t, exitRefused, exitCode(err))
			}
		})
	}
}

func TestAskIsInterrupted(t *testing.T) {
	t.Parallel()
	silent, writer := io.Pipe()
	defer writer.Close()
	s, _ := sessionWith(t, silent, false)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	err := s.ask(ctx)
	require.ErrorIs(t, err, errInterrupted)
	require.Equal(t, exitRefused, exitCode(err), "nothing was touched")
}

func TestFailedSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name      string
		ctx       context.Context
		rehearsed bool
		out       string
	}{
		{"failed", t.Context(), false, "\nfailed\n  exit status 255\n\nup failed. What was done is in the state, so it is safe to run again: em-infra up --stack k3s-dev\n"},
		{"in the lab", t.Context(), true, "\nfailed\n  exit status 255\n\nup failed. What was done is in the state, so it is safe to run again: em-infra up --stack k3s-dev --lab\n"},
		{"interrupted", interrupted, true, "\ninterrupted; the state is saved and says what exists. Go on with: em-infra up --stack k3s-dev --lab\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, out := sessionWith(t, nil, test.rehearsed)
			err := s.failed(test.ctx, "up", errors.New("exit status 255"))
			require.Equal(t, test.out, out.String())
			require.Empty(t, errorText(err), "it is said already")
			require.Equal(t, exitFailed, exitCode(err))
		})
	}
}

func TestSummaryAndCredentials(t *testing.T) {
	t.Parallel()
	s, out := sessionWith(t, nil, true)
	outputs := stacks.Outputs{
		ClusterName: "lab", KubernetesEndpoint: "https://127.20.20.10:6443",
		Kubeconfig: "made up kubeconfig", Talosconfig: "made up talosconfig",
	}
	require.NoError(t, s.keepCredentials(outputs))
	s.summarize(outputs, status.Report{Machines: []status.Machine{{Name: "lab-cp-1",
		Node: &nodeops.Observation{Talos: "v1.12.4"}, Kubernetes: &status.KubernetesNode{Kubelet: "v1.35.4"}}}})
	lines := strings.Split(out.String(), "\n")
	require.Regexp(t, `^lab is up in \d\S* · https://127\.20\.20\.10:6443$`, lines[1])
	dir := s.workspace.Credentials
	require.Equal(t, []string{
		"  runs         Kubernetes v1.35.4 · Talos v1.12.4",
		"  kubeconfig   " + dir + "/kubeconfig",
		"  talosconfig  " + dir + "/talosconfig",
		"next:",
		"  kubectl --kubeconfig " + dir + "/kubeconfig get nodes",
		"  em-infra status --stack k3s-dev --lab",
		"  em-infra destroy --stack k3s-dev --lab",
		"",
	}, lines[2:])
	require.NotContains(t, out.String(), "made up")
	for _, name := range []string{"kubeconfig", "talosconfig"} {
		file, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), file.Mode())
	}

	require.NoError(t, s.forgetCredentials())
	require.NoError(t, s.forgetCredentials(), "what is gone is forgotten")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestTheHeadlineIsWhatTheNodesRun: the inventory asks for a release that no run installs.
func TestTheHeadlineIsWhatTheNodesRun(t *testing.T) {
	t.Parallel()
	s, out := sessionWith(t, nil, true)
	machine := func(name, talos string) status.Machine {
		return status.Machine{Name: name, Node: &nodeops.Observation{Talos: talos}, Kubernetes: &status.KubernetesNode{Kubelet: "v1.35.3"}}
	}
	s.summarize(stacks.Outputs{ClusterName: "lab"}, status.Report{Machines: []status.Machine{
		machine("lab-cp-1", "v1.12.3"), machine("lab-w-1", "v1.12.5"), machine("lab-w-2", "v1.12.3"),
	}})
	require.Contains(t, out.String(), "\n  runs         Kubernetes v1.35.3 · Talos v1.12.3 on lab-cp-1, lab-w-2 and v1.12.5 on lab-w-1\n")
	require.NotContains(t, out.String(), s.inventory.Cluster.Talos.Version.String(), "what the inventory wants")
}

func TestPlaceIsWhatWasTyped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flags stackFlags
		place string
	}{
		{stackFlags{stack: "k3s-dev", yes: true}, "--stack k3s-dev"},
		{stackFlags{stack: "k3s-dev", lab: true, inventory: "stacks/k3s-dev"}, "--stack k3s-dev --inventory stacks/k3s-dev --lab"},
		{stackFlags{stack: "k3s-dev", inventory: "my inventory"}, "--stack k3s-dev --inventory 'my inventory'"},
	} {
		require.Equal(t, test.place, test.flags.place())
	}
}

func TestHasChanges(t *testing.T) {
	t.Parallel()
	require.False(t, hasChanges(nil))
	require.False(t, hasChanges(map[apitype.OpType]int{apitype.OpSame: 9, apitype.OpRead: 1, apitype.OpUpdate: 0}))
	require.True(t, hasChanges(map[apitype.OpType]int{apitype.OpSame: 9, apitype.OpDelete: 1}))
}
