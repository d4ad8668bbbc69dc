package adoption_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/adoption"
)

func TestEachPluginHasAGateway(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plugins := []adoption.Plugin{{Name: "proxmoxve"}, {Name: "truenas"}}
	require.NoError(t, adoption.CheckAll(home, plugins))
	for _, file := range []string{
		"resource-proxmoxve-v8.3.0/pulumi-resource-proxmoxve", "resource-proxmoxve-v8.2.0/pulumi-resource-proxmoxve",
		"resource-truenas-v0.1.0/pulumi-resource-truenas", "language-go-v3.254.0/pulumi-language-go",
	} {
		install(t, filepath.Join(home, "plugins", file))
	}
	require.NoError(t, adoption.CheckAll(home, plugins))
	install(t, filepath.Join(home, "plugins", "resource-random-v4.18.0", "pulumi-resource-random"))
	require.EqualError(t, adoption.CheckAll(home, plugins),
		"the plugin random would change what it should only look at (an adoption stands between the engine and each plugin that em-infra brings; got "+
			filepath.Join(home, "plugins", "resource-random-v4.18.0")+"): move that folder away, then run adopt again; nothing was touched")
}

func install(t *testing.T, file string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
}
