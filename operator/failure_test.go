package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

func TestFailedPassesARefusalOn(t *testing.T) {
	t.Parallel()
	s, recorded := sessionWith(t, nil, true)
	problem := inventory.Problem{File: "cluster.yaml", Finding: strictyaml.Finding{
		Line: 40, Path: "addons.flux", Fault: strictyaml.Fault{What: "has no age key", Do: "give one"},
	}}
	s.ProgramRefuses(&inventory.Problems{problem})
	s.WithFailures([]progress.Failure{{Text: "what the engine made of it"}, {Text: "update failed"}})
	err := s.Failed(t.Context(), operator.OpUp, errors.New("failed to update: exit status 255"))
	require.EqualError(t, err, "cluster.yaml:40: addons.flux: has no age key: give one\n1 problem in 1 file; nothing was touched")
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.ErrorAs(t, err, new(*inventory.Problems), "what it is stays known")
	require.Empty(t, *recorded)

	err = s.Failed(t.Context(), operator.OpUp, errors.New("failed to update: exit status 255"))
	require.ErrorAs(t, err, new(*operator.FailedError), "the run after it is refused by nobody")
}

// TestAnInterruptIsNoRefusal, even if the program has refused before.
func TestAnInterruptIsNoRefusal(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	s, _ := sessionWith(t, nil, true)
	s.ProgramRefuses(errors.New("refused"))
	require.Equal(t, &operator.FailedError{Operation: "up", Again: "up --stack k3s-dev --lab", Interrupted: true}, s.Failed(interrupted, operator.OpUp, interrupted.Err()))
	require.NoError(t, s.ProgramRefused())
}

// TestFailedNamesThePermissions that the run needed: the next one needs them, too.
func TestFailedNamesThePermissions(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, true)
	s.WithFailures([]progress.Failure{{Text: "dial tcp 192.168.20.11:50000: connect: connection refused"}},
		operator.Permission{Flag: "allow-replace", Subject: "control-1"}, operator.Permission{Flag: "allow-version-skip"})
	failure := new(operator.FailedError)
	require.ErrorAs(t, s.Failed(t.Context(), operator.OpUp, errors.New("failed to update: exit status 255")), &failure)
	const again = "up --stack k3s-dev --lab --allow-replace control-1 --allow-version-skip"
	require.Equal(t, again, failure.Again)
	require.Contains(t, failure.Causes[0].Explanations[0].Do, "then run `em-infra "+again+"` again")
}

// TestFailedExplains: the error of a failed run contains explanations for the command that failed.
func TestFailedExplains(t *testing.T) {
	t.Parallel()
	const lockError = "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"
	s, _ := sessionWith(t, nil, true)
	s.WithFailures([]progress.Failure{
		{Phase: phase.Provision, Name: "k3s-dev-worker-1-vm", Text: "sdk-v2/provider2.go:572: sdk.helper_schema: received an HTTP 500 response - Reason: " + lockError + ": provider=proxmox@6.18.1"},
		{Phase: phase.Provision, Name: "k3s-dev-worker-1-vm", Text: "1 error occurred:\n\t* updating urn:pulumi:k3s-dev::em-infra::x:y:Z::k3s-dev-worker-1-vm: 1 error occurred:\n\t* received an HTTP 500 response - Reason: " + lockError},
		{Phase: phase.Provision, Name: "k3s-dev-worker-2-vm", Text: "received an HTTP 500 response - Reason: " + strings.ReplaceAll(lockError, "102", "103")},
		{Phase: phase.Provision, Name: "k3s-dev-worker-3-vm", Text: "waits for k3s-dev-control-1"},
		{Phase: phase.Provision, Name: "k3s-dev-control-1-vm", Text: "nobody knows this"},
		{Phase: phase.Bootstrap, Name: "k3s-dev-bootstrap", Text: "something nobody\nhas seen yet"},
		{Text: "destroy failed"},
	})
	err := s.Failed(t.Context(), operator.OpDestroy, errors.New("failed to destroy: exit status 255"))
	var failure *operator.FailedError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "destroy --stack k3s-dev --lab", failure.Again)

	require.Len(t, failure.Causes, 3)
	locked, unknown, other := failure.Causes[0], failure.Causes[1], failure.Causes[2]
	require.Equal(t, "k3s-dev-worker-1-vm", locked.Name)
	require.Equal(t, []string{"k3s-dev-worker-2-vm"}, locked.Alike)
	require.Len(t, locked.Explanations, 1)
	require.Equal(t, "`em-infra lab unlock 102 --stack k3s-dev` if no task is running there (`em-infra task list --stack k3s-dev --lab`), then run `em-infra destroy --stack k3s-dev --lab` again", locked.Explanations[0].Do)
	require.Equal(t, "yes: nothing was left half done; destroy goes on from here", locked.Explanations[0].Safe)
	require.Equal(t, "nobody knows this", unknown.Text)
	require.Equal(t, []string{"k3s-dev-worker-3-vm"}, unknown.Because)
	require.Equal(t, "something nobody\nhas seen yet", other.Text)
}

// TestFailedKnowsTheLockOfAnotherRun, also where something is joined with the error of the Automation API, such as that of the guard.
func TestFailedKnowsTheLockOfAnotherRun(t *testing.T) {
	t.Parallel()
	locked := lockedEngine(t)
	for name, err := range map[string]error{
		"alone":   locked,
		"joined":  errors.Join(locked, errors.New("plugins of an engine that was killed")),
		"wrapped": fmt.Errorf("up: %w", errors.Join(nil, locked)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := sessionWith(t, nil, true)
			failed := s.Failed(t.Context(), operator.OpUp, err)
			require.EqualError(t, failed, "another run works on this stack: wait for it to end, then run again")
			require.ErrorAs(t, failed, new(*operator.RefusedError), "it has changed nothing")
		})
	}
}

// lockedEngine returns the error of the Automation API whose CLI finds the lock of another run.
func lockedEngine(t *testing.T) error {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "bin", "pulumi"), []byte(`#!/bin/sh
case "$*" in
*version*) echo v3.254.0 ;;
*destroy*) echo "error: the stack is currently locked by 1 lock(s)" >&2; exit 255 ;;
esac
`), 0o700)) //nolint:gosec // a program
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root})
	require.NoError(t, err)
	space, err := auto.NewLocalWorkspace(t.Context(), auto.Pulumi(command), auto.WorkDir(root))
	require.NoError(t, err)
	stack, err := auto.SelectStack(t.Context(), "k3s-dev", space)
	require.NoError(t, err)
	_, err = stack.Destroy(t.Context())
	require.True(t, auto.IsConcurrentUpdateError(err), "%v", err)
	return err
}
