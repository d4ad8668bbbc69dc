package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestThePictureOfAStatus: a node is healthy if it answers as a node of the cluster, as in `graph`.
func TestThePictureOfAStatus(t *testing.T) {
	t.Parallel()
	for stage, drawn := range map[string]graph.Health{
		"running": graph.Healthy, "booting": graph.Healthy, "maintenance": graph.Unhealthy, "": graph.Unhealthy,
	} {
		report := operator.StatusReport{Machines: []status.Machine{{Node: &nodeops.Observation{Stage: stage}}}}
		require.Equal(t, []graph.Health{drawn, graph.Unknown}, operator.HealthsIn(make(inventory.Nodes, 2), report), stage)
	}
	require.Equal(t, []graph.Health{graph.Unknown}, operator.HealthsIn(make(inventory.Nodes, 1), operator.StatusReport{Machines: make([]status.Machine, 1)}))
}
