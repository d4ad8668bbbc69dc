package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// TestDrawnHistoriesAreReadAsTheyArePrinted checks that a history can be stored, and that a seed has only one history.
func TestDrawnHistoriesAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(500) {
		drawn := history.Draw(seed, 8)
		require.Len(t, drawn.Moves, 8)
		read, err := history.Parse(drawn.String())
		require.NoError(t, err, drawn)
		require.Equal(t, drawn, read)
		require.Equal(t, drawn, history.Draw(seed, 8))
		seen[drawn.String()] = true
	}
	require.Greater(t, len(seen), 490, "another seed is another history")
}

// TestDrawingReachesEverything checks that every move and every topology occurs.
func TestDrawingReachesEverything(t *testing.T) {
	t.Parallel()
	moves, topologies := map[history.Verb]map[string]bool{}, map[site.Topology]bool{}
	for seed := range uint64(3000) {
		drawn := history.Draw(seed, 8)
		topologies[drawn.Topology] = true
		for _, m := range drawn.Moves {
			if moves[m.Verb] == nil {
				moves[m.Verb] = map[string]bool{}
			}
			moves[m.Verb][m.What] = true
		}
	}
	require.Len(t, topologies, len(history.Topologies))
	for verb, all := range map[history.Verb]int{
		history.Edit: len(site.Edits), history.Mistake: len(site.Mistakes), history.Run: len(history.Runs),
		history.Fault: len(history.Faults), history.Kill: len(history.Victims), history.Hand: len(history.Hands),
	} {
		require.Len(t, moves[verb], all, verb)
	}
}

func TestHistoriesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"":                                      "there is no topology",
		"run up":                                `"run up" stands before the topology`,
		"topology\nrun":                         `"run" is no move: write a verb and what it does`,
		"topology\nrun away":                    `"run away" is no move`,
		"topology\nfault clone-fails":           `"fault clone-fails" does not read like "fault clone-fails 0"`,
		"topology\nfault clone-fails two":       `"fault clone-fails two": "two" is no number`,
		"topology\nedit memory worker-1 5 more": `"edit memory worker-1 5 more" does not read like "edit memory worker-1 5"`,
	} {
		_, err := history.Parse(text)
		require.EqualError(t, err, wrong)
	}
	h, err := history.Parse("# what it found\ntopology workers=1 # the smallest\n\nkill engine 7\n")
	require.NoError(t, err)
	require.Equal(t, "topology control-planes=1 workers=1 gpu-workers=0 hosts=1\nkill engine 7\n", h.String())
}
