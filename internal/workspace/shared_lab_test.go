package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

// TestASharedLab is used from then on by each rehearsal that has joined it, and its name is that of no stack.
func TestASharedLab(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, w.Dir, w.Lab)
	require.Empty(t, w.SharedLab())

	name := workspace.SharedLabName("https://vmhost:8006")
	require.Equal(t, "_vmhost-8006", name)
	require.NoError(t, w.ShareLab(name))
	again, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, ".lab", "_vmhost-8006"), again.Lab)
	require.Equal(t, name, again.SharedLab())
	require.Equal(t, filepath.Join(root, ".lab", "k3s-dev"), again.Dir, "its state is its own")
	_, err = workspace.Rehearsal(root, name, "")
	require.ErrorIs(t, err, workspace.ErrStackName)

	alone, err := workspace.Rehearsal(root, "other", "")
	require.NoError(t, err)
	require.Empty(t, alone.SharedLab())
	real, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	require.Empty(t, real.SharedLab()+real.Lab)
}

func TestTheNameOfASharedLab(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"": "_site", "https://vmhost:8006": "_vmhost-8006", "https://[fd00::1]:8006": "_fd00-1-8006", "https://../..": "_..-..", "vmhost": "_vmhost",
	} {
		require.Equal(t, want, workspace.SharedLabName(endpoint), endpoint)
	}
}

func TestADamagedNoteOfASharedLab(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	note := filepath.Join(root, ".lab", "k3s-dev", "shared-lab")
	require.NoError(t, os.MkdirAll(filepath.Dir(note), 0o700))
	for _, text := range []string{"", "../../elsewhere", "k8s-prod"} {
		require.NoError(t, os.WriteFile(note, []byte(text), 0o600))
		_, err := workspace.Rehearsal(root, "k3s-dev", "")
		require.EqualError(t, err, note+" is damaged: delete it to rehearse the stack on a lab of its own, or run `em-infra site up --lab` after that")
	}
}
