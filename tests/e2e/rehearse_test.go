package e2e_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// rehearsalLimit is promised for k3s-dev at the default time scale, with tools built.
const rehearsalLimit = 90 * time.Second

// TestE2ERehearsal runs the whole life by one command, and everything is as expected.
func TestE2ERehearsal(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-rehearse")
	before := r.read(r.inventory + "/nodes.yaml")

	command := r.command(t.Context(), "rehearse", "--output", "json", "--stack", r.stack, "--inventory", r.inventory)
	var progress bytes.Buffer
	command.Stderr = &progress
	output, err := command.Output()
	require.NoError(t, err, "%s", progress.String())
	var report operator.RehearsalReport
	require.NoError(t, json.Unmarshal(output, &report), "nothing but the report is on the output")
	require.True(t, report.Expected)
	var steps []string
	for _, step := range report.Steps {
		steps = append(steps, step.Name)
		require.Empty(t, step.Differences, step.Name)
	}
	require.Equal(t, []string{"validate", "preflight", "up", "no-op", "scale up", "scale down", "destroy"}, steps)
	require.Equal(t, before, r.read(r.inventory+"/nodes.yaml"), "the files of the inventory are not touched")
	require.NoDirExists(t, r.dir(), "nor is the stack's own lab")
	require.NoDirExists(t, r.dir()+"-rehearsal", "what is as expected is cleared away")
}

// BenchmarkRehearsal is the time from the command to the verdict.
func BenchmarkRehearsal(b *testing.B) {
	r := newRehearsal(b, "bench-rehearse")
	for b.Loop() {
		timed(b, rehearsalLimit, func() { r.mustRun(0, "rehearse") })
	}
}
