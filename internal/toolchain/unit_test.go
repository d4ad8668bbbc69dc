package toolchain_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

func TestFits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cli, sdk string
		want     bool
	}{
		{"v3.254.0", "v3.254.0", true},
		{"v3.254.0", "v3.254.2", true},
		{"v3.260.1", "v3.254.0", true},
		{"v3.99.0", "v3.254.0", false},
		{"v3.253.9", "v3.254.0", false},
		{"v4.0.0", "v3.254.0", false},
		{"3.254.0", "v3.254.0", false},
		{"", "v3.254.0", false},
	} {
		require.Equal(t, tc.want, toolchain.Fits(tc.cli, tc.sdk), "%s with SDK %s", tc.cli, tc.sdk)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 s", toolchain.Span(300*time.Millisecond))
	require.Equal(t, "59 s", toolchain.Span(59*time.Second))
	require.Equal(t, "2 min", toolchain.Span(2*time.Minute))
	require.Equal(t, "61 min 1 s", toolchain.Span(time.Hour+61*time.Second))
	require.Equal(t, "5 MiB", toolchain.Size(5<<20))
	require.Equal(t, "1.5 GiB", toolchain.Size(3<<29))
}

func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	out := &log{}
	synctest.Test(t, func(*testing.T) {
		toolchain.Step(out, false, 40*time.Millisecond, 60*time.Millisecond, "building talos v0.7.1 (3 of 4)",
			"go: downloading example.org/a v1.0.0", "talos v0.7.1: built (3 of 4)")
	})
	require.Equal(t, ` tools      building talos v0.7.1 (3 of 4)
 tools      building talos v0.7.1 (3 of 4)  0 s  downloading example.org/a v1.0.0
 tools      talos v0.7.1: built (3 of 4)  0 s
`, out.String())
}

func TestSourceIsFoundFromAFolderInIt(t *testing.T) {
	t.Parallel()
	here, err := toolchain.Find(t.Context(), "")
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.Equal(t, root, here)
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	out := &log{}
	synctest.Test(t, func(*testing.T) {
		toolchain.Step(out, true, 40*time.Millisecond, 60*time.Millisecond, "building talos v0.7.1 (3 of 4)",
			"compiling", "talos v0.7.1: built (3 of 4)")
	})
	const over = "\r\x1b[K tools      "
	require.Equal(t, over+"building talos v0.7.1 (3 of 4)"+
		over+"building talos v0.7.1 (3 of 4)  0 s"+
		over+"talos v0.7.1: built (3 of 4)  0 s\n", out.String())
}

// TestSourceOfAnEmbeddingProgram is not parallel, because it changes the working directory.
func TestSourceOfAnEmbeddingProgram(t *testing.T) {
	source := filepath.Join(t.TempDir(), "em-infra")
	write(t, filepath.Join(source, "go.mod"), "module github.com/em-infra/em-infra\n\ngo 1.26\n")
	write(t, filepath.Join(source, "tools", "go.mod"), "module github.com/em-infra/em-infra/tools\n")
	embedding := t.TempDir()
	write(t, filepath.Join(embedding, "go.mod"), "module example.org/embedding\n\ngo 1.26\n\n"+
		"require github.com/em-infra/em-infra v0.1.0\n\nreplace github.com/em-infra/em-infra => "+source+"\n")
	t.Chdir(embedding)
	found, err := toolchain.Find(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, source, found)

	t.Chdir(t.TempDir())
	_, err = toolchain.Find(t.Context(), "")
	require.ErrorIs(t, err, toolchain.ErrNoSource)
}

func TestExecutables(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]struct {
		system, name string
		kind         toolchain.Kind
	}{
		"pulumi":                    {"linux", "pulumi", toolchain.CLI},
		"pulumi-resource-talos":     {"darwin", "talos", toolchain.Plugin},
		"pulumi.exe":                {"windows", "pulumi", toolchain.CLI},
		"pulumi-resource-talos.exe": {"windows", "talos", toolchain.Plugin},
		"pulumi-language-go.exe":    {"windows", "language-go", toolchain.LanguageHost},
	} {
		require.Equal(t, want, toolchain.ExecutableOn(of.system, of.name, of.kind))
	}
}
