package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGraphDrawsTheInventory(t *testing.T) {
	root := project(t)
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev")
	require.Equal(t, exitOK, drawn.code, drawn.err)
	require.Contains(t, drawn.out, "<svg ")
	require.Contains(t, drawn.out, ">cp-1<")
	require.Contains(t, drawn.out, "cp-1: control plane, not asked")

	require.Equal(t, outcome{out: "drawn: cluster.svg\n"}, em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "cluster.svg"))
	text, err := os.ReadFile(filepath.Join(root, "cluster.svg"))
	require.NoError(t, err)
	require.Equal(t, drawn.out, string(text))
	require.Equal(t, refusal("--out: open nowhere/cluster.svg: no such file or directory: choose a file in a folder that is there"),
		em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "nowhere/cluster.svg"))
}

func TestGraphShowsTheLabsAddresses(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev", "--lab")
	require.Equal(t, exitOK, drawn.code, drawn.err)
	require.Contains(t, drawn.out, ">127.20.20.11<")
}
