// Package lives_test runs lives of clusters: histories that are drawn from a seed, or stored as text, with the real tool on a
// lab, and checks each with a model.
package lives_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/shrink"
)

var (
	seed      = flag.Uint64("seed", 1, "the first seed: life n is drawn from seed+n")
	lives     = flag.Int("lives", 0, "how many lives are drawn")
	moves     = flag.Int("moves", 8, "how many moves a life that is drawn has")
	shrinking = flag.Int("shrink", 20, "how many shorter histories are tried for a life that fails; 0 for none")
	layered   = flag.Bool("layers", false, "lives have a stack of hosts, a stack of systems, and storage on a NAS")
	one       = flag.String("history", "", "a file with a history: it alone is played")
	extended  = flag.Bool("extended", false, "play all stored histories: also those that the suite of CI leaves out for their time")
)

// atOnce is how many lives run at the same time for each processor, unless -parallel sets another number. A life waits for half of its time.
const atOnce = 2

var (
	// workshop is where the tool is built. It goes with the tests.
	workshop *labstack.Workshop
	lanes    laneSet
	tallied  tally
)

func TestMain(m *testing.M) {
	started := time.Now()
	os.Exit(labstack.Run(m, atOnce, func(w *labstack.Workshop) { workshop = w }, func() error {
		tallied.print(started)
		return lanes.remove()
	}))
}

// TestLives draws lives and runs them: go test ./tests/lives -seed 1 -lives 300 -moves 8.
func TestLives(t *testing.T) {
	t.Parallel()
	for n := range *lives {
		drawn := *seed + uint64(n)
		t.Run(fmt.Sprintf("seed %d", drawn), func(t *testing.T) {
			t.Parallel()
			h := history.Draw(drawn, *moves)
			if *layered {
				h = history.DrawWithLayers(drawn, *moves)
			}
			if failed := play(t, h); failed != nil {
				t.Errorf("go test ./tests/lives -run TestLives -seed %d -lives 1 -moves %d -layers=%t\n%s", drawn, *moves, *layered, shortest(t, h, failed))
			}
		})
	}
}

// TestHistories plays stored histories: each has found a defect. Without -extended it plays a few short ones.
func TestHistories(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("brings clusters up and takes minutes")
	}
	if *lives > 0 {
		t.Skip("lives are drawn")
	}
	for _, file := range storedHistories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			h, err := history.Parse(string(text))
			require.NoError(t, err)
			if failed := play(t, h); failed != nil {
				t.Error(failed)
			}
		})
	}
}

// storedHistories returns the files of the histories that are played. Those in the folder extended are left out without -extended.
func storedHistories(t *testing.T) []string {
	t.Helper()
	if *one != "" {
		return []string{*one}
	}
	folder := filepath.Join("testdata", "histories")
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	require.NoError(t, err)
	if *extended {
		others, err := filepath.Glob(filepath.Join(folder, "extended", "*.txt"))
		require.NoError(t, err)
		files = append(files, others...)
	}
	require.NotEmpty(t, files)
	return files
}

// shortest returns the shortest history that still fails, in the form of testdata/histories, with its failure.
func shortest(t *testing.T, whole history.History, failed *failure) string {
	t.Helper()
	latest := failed
	left := shrink.List(whole.Moves, *shrinking, func(part []history.Move) bool {
		again := play(t, history.History{Topology: whole.Topology, Moves: part})
		if again != nil {
			latest = again
		}
		return again != nil
	})
	short := history.History{Topology: whole.Topology, Moves: left}
	return fmt.Sprintf("%s\nthe shortest history that fails:\n\n%s", latest, short)
}
