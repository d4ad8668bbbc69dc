package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator"
)

func TestNodesAreRebootedInTheOrderOfTheInventory(t *testing.T) {
	t.Parallel()
	nodes := []rolling.Node{{Name: "cp-1", ControlPlane: true}, {Name: "w-1"}, {Name: "w-2"}}

	chosen, err := operator.ChosenNodes(nodes, nil)
	require.NoError(t, err)
	require.Equal(t, nodes, chosen)

	chosen, err = operator.ChosenNodes(nodes, []string{"w-2", "cp-1", "w-2"})
	require.NoError(t, err)
	require.Equal(t, []rolling.Node{nodes[0], nodes[2]}, chosen)

	_, err = operator.ChosenNodes(nodes, []string{"w-3", "w-1", "cp-2"})
	require.EqualError(t, err, "w-3 is no node of the inventory: give the name of one in nodes.yaml\ncp-2 is no node of the inventory: give the name of one in nodes.yaml")
}
