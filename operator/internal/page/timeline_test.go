package page_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/page"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	timeline := page.NewTimeline(run(2, "up", birth()), manifest.Platform, whole().Nodes)
	var lanes []string
	for _, lane := range append(timeline.Phases, timeline.Lanes...) {
		lanes = append(lanes, fmt.Sprintf("%s: %d operations in %d rows, %.1f s", lane.Name, len(lane.Steps), len(lane.Rows), lane.Took))
	}
	require.Equal(t, []string{
		"generate: 2 operations in 1 rows, 1.0 s",
		"provision: 6 operations in 1 rows, 62.2 s",
		"bootstrap: 9 operations in 1 rows, 79.6 s",
		"addons: 1 operations in 1 rows, 38.0 s",
		"cluster: 3 operations in 1 rows, 178.2 s",
		"templates: 3 operations in 2 rows, 38.1 s",
		"k3s-dev-control-1: 3 operations in 1 rows, 77.5 s",
		"k3s-dev-control-2: 3 operations in 1 rows, 98.7 s",
		"k3s-dev-control-3: 3 operations in 1 rows, 98.7 s",
		"k3s-dev-gpu-1: 3 operations in 1 rows, 98.7 s",
	}, lanes)
	var longest []string
	for _, step := range timeline.Longest {
		longest = append(longest, step.What)
	}
	require.Equal(t, []string{
		"k3s-dev-template-pve1-image-schematic", "k3s-dev-template-pve1-iso", "k3s-dev-template-pve1-vm", "k3s-dev-control-1-vm",
		"k3s-dev-control-1-configuration", "k3s-dev-control-1-membership", "k3s-dev-bootstrap", "k3s-dev-gpu-1-membership", "k3s-dev-addons-cilium",
	}, longest)
	require.Equal(t, "18 created", timeline.Changes)
}

// TestBarsLieInTheRun: for all times, a bar can be seen and lies within its track, and those of a row do not overlap.
func TestBarsLieInTheRun(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{0, 0.1, 1000} {
		s := summary("up", seconds,
			planned{name: "w-1-vm", kind: typeVM, phase: phase.Provision, after: 0, seconds: seconds},
			planned{name: "w-1-configuration", kind: typeConfiguration, phase: phase.Bootstrap, after: seconds},
			planned{name: "w-1-membership", kind: typeCommand, phase: phase.Bootstrap, after: seconds / 2, seconds: seconds * 2},
		)
		for _, lane := range page.NewTimeline(run(1, "up", s), manifest.Platform, nil).Lanes {
			require.Equal(t, "w-1", lane.Name, "a machine that only the run knows has a lane")
			for _, row := range lane.Rows {
				end := 0.0
				for _, bar := range row {
					require.GreaterOrEqual(t, bar.Left, end-1e-9)
					require.Positive(t, bar.Width)
					end = bar.Left + bar.Width
					require.LessOrEqual(t, end, 100+1e-9)
				}
			}
		}
	}
}

// TestLanes: a resource belongs to the node with the longest name that its own begins with.
func TestLanes(t *testing.T) {
	t.Parallel()
	s := summary("up", 10,
		planned{name: "lab-w-1-vm", kind: typeVM, phase: phase.Provision},
		planned{name: "lab-w-1-b-vm", kind: typeVM, phase: phase.Provision},
		planned{name: "lab-w-1-b-data-1", kind: typeCommand, phase: phase.Provision},
		planned{name: "lab-w-10-configuration", kind: typeConfiguration, phase: phase.Bootstrap},
		planned{name: "lab-template-w-1-vm", kind: typeVM, phase: phase.Provision},
	)
	var lanes []string
	for _, lane := range page.NewTimeline(run(1, "up", s), manifest.Platform, []string{"lab-w-1"}).Lanes {
		for _, step := range lane.Steps {
			lanes = append(lanes, lane.Name+": "+step.What)
		}
	}
	require.Equal(t, []string{
		"cluster: lab-w-10-configuration", "templates: lab-template-w-1-vm", "lab-w-1: lab-w-1-vm", "lab-w-1-b: lab-w-1-b-vm", "lab-w-1-b: lab-w-1-b-data-1",
	}, lanes)
}

// TestAChainEnds: operations of a summary that was edited do not wait for one another for ever.
func TestAChainEnds(t *testing.T) {
	t.Parallel()
	s := summary("up", 10,
		planned{name: "a", kind: typeVM, after: 1, seconds: 2, waitedFor: [2]string{"b", typeVM}},
		planned{name: "b", kind: typeVM, after: 1, seconds: 2, waitedFor: [2]string{"a", typeVM}},
	)
	timeline := page.NewTimeline(artifacts.Past{Summary: s}, manifest.Platform, nil)
	require.Len(t, timeline.Longest, 1)
}
