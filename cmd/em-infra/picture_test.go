package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPictureOfTheReadmeIsCurrent: docs/k3s-dev.svg is what `em-infra graph --stack k3s-dev` draws of the inventory in the
// repository. With -update it is drawn anew.
func TestPictureOfTheReadmeIsCurrent(t *testing.T) {
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	project(t) // no credentials lie in it, so no node of anybody's is asked
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev", "--inventory", filepath.Join(repository, "stacks", "k3s-dev"))
	require.Equal(t, exitOK, drawn.code, drawn.err)

	picture := filepath.Join(repository, "docs", "k3s-dev.svg")
	if *update {
		require.NoError(t, os.WriteFile(picture, []byte(drawn.out), 0o644)) //nolint:gosec // a page's own picture
	}
	committed, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Equal(t, string(committed), drawn.out, "draw it anew: go test ./cmd/em-infra -run PictureOfTheReadme -update")
}
