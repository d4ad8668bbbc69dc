package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/workspace"
)

func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, values string }{
		{"status --stack", "k3s-dev k8s-prod site-hosts site-systems"},
		{"state restore --stack", "k3s-dev k8s-prod site-hosts site-systems"},
		{"up --until", "generate provision bootstrap addons verify"},
		{"up --only", "generate provision bootstrap addons verify"},
		{"preview --allow-change", "secrets"},
		{"drift --output", "text json"},
		{"up", "k3s-dev k8s-prod site-hosts site-systems"},
		{"validate", "k3s-dev k8s-prod site-hosts site-systems"},
		{"up k3s-dev", ""},
		{"init --control-planes", "1 3 5"},
		{"init --bridge", ""},
		{"role --pve", "8.4 9.1"},
		{"lab start --pve", "8.4 9.1"},
		{"reboot --stack k3s-dev", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"reboot --stack k3s-dev k3s-dev-worker-1", "k3s-dev-control-1 k3s-dev-gpu-1"},
		{"preview k3s-dev --allow-replace", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"up --stack k3s-dev --allow-delete", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"task stop --stack k3s-dev", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"task stop --stack site-systems", "tools pihole"},
		{"task stop --stack site-hosts", ""},
		{"up --stack site-systems --allow-delete", "tools pihole"},
		{"up --stack site-systems --canary", ""},
		{"lab unlock --stack k3s-dev", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"lab unlock --stack k3s-dev 102", ""},
		{"lab reset --stack k3s-dev", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"lab fault set --stack k3s-dev clone-fails --vm", "k3s-dev-control-1 k3s-dev-worker-1 k3s-dev-gpu-1"},
		{"lab fault set --stack k3s-dev clone-fails --node", "vmhost"},
	} {
		result := em(t.Context(), append(append([]string{"__complete"}, strings.Fields(test.line)...), "")...)
		require.Equal(t, exitOK, result.code, result.err)
		completed, _, _ := strings.Cut("\n"+result.out, "\n:")
		require.Equal(t, test.values, strings.Join(strings.Fields(completed), " "), test.line)
	}
}

func TestFaultsAreCompleted(t *testing.T) {
	t.Parallel()
	completed := em(t.Context(), "__complete", "lab", "fault", "set", "").out
	for _, kind := range lab.FaultKinds() {
		require.Contains(t, completed, kind.Name+"\t"+kind.About+"\n")
	}
	require.Equal(t, ":4\n", em(t.Context(), "__complete", "lab", "fault", "set", "clone-fails", "").out)
}

func TestBackupsAreCompletedNewestFirst(t *testing.T) {
	root := project(t)
	w, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	var names []string
	for _, name := range []string{"2026-11-21T09-00-00-after-up", "2026-11-21T10-00-00-by-hand"} {
		writeFile(t, filepath.Join(w.Backups, name+".json"), name)
		names = append([]string{name}, names...)
	}
	for _, line := range []string{"state restore --stack k3s-dev --from", "state restore k3s-dev --from"} {
		completed := em(t.Context(), append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		require.Equal(t, strings.Join(names, "\n")+"\n:36\n", completed.out)
	}
}

func TestNoStackIsCompletedOutsideOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, ":4\n", em(t.Context(), "__complete", "status", "--stack", "").out)
}
