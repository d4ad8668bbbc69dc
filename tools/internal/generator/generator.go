// Package generator compares the files that a bridged plugin embeds with those that its schema generator writes. It is for tests.
package generator

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// version is the environment variable with which a test binary runs its bridge's generator for that version. A process of its own
// is needed, because the generators read the command line of their process and end it.
const version = "EM_INFRA_GENERATE"

var update = flag.Bool("update", false, "write what the generator makes over the embedded files")

// Main is the TestMain of a bridge's package.
func Main(m *testing.M, generate func(version string)) {
	if version := os.Getenv(version); version != "" {
		generate(version) // exits by itself when it fails
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// HoldEmbedded generates the files that the plugin embeds, and compares them with those in the folder of its package. With the test
// flag -update it writes them.
func HoldEmbedded(t *testing.T, sdkVersion string) {
	t.Helper()
	made := t.TempDir()
	cmd := exec.Command(os.Args[0], "schema", "--skip-docs", "--skip-examples", "--out", made)
	cmd.Env = append(os.Environ(), version+"="+sdkVersion)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	for _, name := range []string{"schema.json", "bridge-metadata.json"} {
		hold(t, filepath.Join(made, name), name)
	}
}

func hold(t *testing.T, made, embedded string) {
	t.Helper()
	want, err := os.ReadFile(made)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(embedded, want, 0o644))
	}
	have, err := os.ReadFile(embedded)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "%s is not what the generator makes: run with -update", embedded)
}
