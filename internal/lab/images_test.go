package lab_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestWhatIsInAnImage: the name of an ISO has the beginning of its schematic's ID, the name of an installer image the whole
// ID.
func TestWhatIsInAnImage(t *testing.T) {
	t.Parallel()
	const id = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
	store := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(store, id+".yaml"),
		[]byte("customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}\n"), 0o600))
	agent := []talos.Extension{{Name: "qemu-guest-agent", Version: "v1.12.4"}}
	for reference, want := range map[string]talos.Release{
		"local:iso/talos-v1.12.4-nocloud-ce4c980550dd2ab1-amd64.iso": {Version: "v1.12.4", Schematic: id, Extensions: agent},
		"local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso": {Version: "v1.12.4"},
		"local:iso/talos-v1.12.4-nocloud-amd64.iso":                  {Version: "v1.12.4"},
		"factory.talos.dev/nocloud-installer/" + id + ":v1.12.4":     {Version: "v1.12.4", Schematic: id, Extensions: agent},
	} {
		release, err := lab.Installer(store)(reference)
		require.NoError(t, err)
		require.Equal(t, want, release, reference)
	}
}
