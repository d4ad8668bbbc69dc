package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
)

// TestPictureOfTheReadmeIsCurrent: docs/k3s-dev.svg is what `em-infra graph --stack k3s-dev` draws of the inventory in the
// repository. With -update it is drawn anew.
func TestPictureOfTheReadmeIsCurrent(t *testing.T) {
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	project(t) // it contains no credentials, so no real node is asked
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev", "--inventory", filepath.Join(repository, "stacks", "k3s-dev"))
	require.Equal(t, exitOK, drawn.code, drawn.err)

	golden.Equal(t, filepath.Join(repository, "docs", "k3s-dev.svg"), drawn.out)
}
