package toolchain_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// hostOf is the path in a home where the engine looks for the language host.
const hostOf = "plugins/language-go-v3.254.0/pulumi-language-go"

func TestLanguageHostOfPathIsPreferred(t *testing.T) {
	t.Parallel()
	onPath := filepath.Join(t.TempDir(), "bin", "pulumi-language-go")
	bundled := filepath.Join(t.TempDir(), "libexec", "pulumi-language-go")
	symlink := filepath.Join(t.TempDir(), "pulumi")
	for _, path := range []string{onPath, bundled, filepath.Join(filepath.Dir(bundled), "pulumi")} {
		write(t, path, "#!/bin/sh\n")
		require.NoError(t, os.Chmod(path, 0o755))
	}
	require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(bundled), "pulumi"), symlink))
	for name, test := range map[string]struct {
		paths map[string]string
		want  string
	}{
		"on PATH":                         {map[string]string{"pulumi-language-go": onPath, "pulumi": symlink}, onPath},
		"beside the pulumi that PATH has": {map[string]string{"pulumi": symlink}, bundled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seams, opts := offline(), checkout(t)
			seams.LookPath = found(test.paths)
			opts.Names = []string{"language-go"}
			installed := install(t, opts.With(seams))
			got := tool(t, installed, "language-go")
			require.Equal(t, toolchain.Official, got.Origin)
			require.Equal(t, test.want, got.Path)
			home := t.TempDir()
			for range 2 {
				require.NoError(t, installed.Populate(home))
				target, err := os.Readlink(filepath.Join(home, hostOf))
				require.NoError(t, err)
				require.Equal(t, test.want, target)
			}
		})
	}
}

func TestLanguageHostIsAStandInWhereThereIsNone(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.LanguageHost = true
	installed := install(t, opts)
	require.Len(t, installed.Tools, 6)
	got := tool(t, installed, "language-go")
	require.Equal(t, toolchain.StandIn, got.Origin)
	home := t.TempDir()
	require.NoError(t, installed.Populate(home))
	output, err := exec.Command(filepath.Join(home, hostOf)).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "v3.254.0\n", string(output))

	opts.LanguageHost = false
	require.Len(t, install(t, opts).Tools, 5, "em-infra needs none")
}
