package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// TestDrawnLayersAreReadAsTheyArePrinted checks that a history with layers can be stored, has one seed, and reaches every move of the layers.
func TestDrawnLayersAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	moves, topologies := map[history.Verb]map[string]bool{}, map[site.Topology]bool{}
	for seed := range uint64(3000) {
		drawn := history.DrawWithLayers(seed, 8)
		require.Len(t, drawn.Moves, 8)
		read, err := history.Parse(drawn.String())
		require.NoError(t, err, drawn)
		require.Equal(t, drawn, read)
		require.Equal(t, drawn, history.DrawWithLayers(seed, 8))
		topologies[drawn.Topology] = true
		for _, m := range drawn.Moves {
			if moves[m.Verb] == nil {
				moves[m.Verb] = map[string]bool{}
			}
			if m.OfLayers() {
				moves[m.Verb][m.What] = true
			}
		}
	}
	require.Len(t, topologies, len(history.LayerTopologies))
	for verb, all := range map[history.Verb]int{
		history.Edit: len(site.LayerEdits), history.Mistake: len(site.LayerMistakes), history.Run: len(history.LayerRuns),
		history.Fault: len(history.LayerFaults), history.Hand: len(history.LayerHands),
	} {
		require.Len(t, moves[verb], all, verb)
	}
}

// TestLivesWithoutLayersStayAsTheyAre: what was found with a seed is found with it again.
func TestLivesWithoutLayersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const first = `topology control-planes=1 workers=1 gpu-workers=0 hosts=1
edit kubernetes 5
kill interrupt 49
run up
hand cordon control-1
edit label worker-1 55
edit udev control-1 22
kill interrupt-twice 45
run until-provision
`
	require.Equal(t, first, history.Draw(1, 8).String())
}
