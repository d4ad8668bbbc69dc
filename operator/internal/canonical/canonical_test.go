package canonical_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/canonical"
)

func TestForm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"canonical":        {"a: 1\n\n# why\nb:\n  - c\n", "a: 1\n\n# why\nb:\n  - c\n"},
		"indentation":      {"a:\n    b:\n    - c\n    - d: 1\n      e: 2\n", "a:\n  b:\n    - c\n    - d: 1\n      e: 2\n"},
		"blanks":           {"a: 1  \n\n\n\nb: {c: 1,d:  2}\r\n", "a: 1\n\nb: {c: 1, d: 2}\n"},
		"no line feed":     {"a: 1", "a: 1\n"},
		"comments":         {"# head\na:   1    # line\n   # of b\nb: 2\n# end\n", "# head\na: 1 # line\n# of b\nb: 2\n# end\n"},
		"texts":            {"a: 'x: y'\nb: \"1\"\nc: |\n    two\n    lines\nd: >\n    folded\n    text\n", "a: 'x: y'\nb: \"1\"\nc: |\n  two\n  lines\nd: >\n  folded\n  text\n"},
		"numbers as texts": {"vlan: 020\nmac: BC:24:11:00:00:01\n", "vlan: 020\nmac: BC:24:11:00:00:01\n"},
		"blanks in texts":  {"a: |\n  x  \n  y\nb: 1  \n", "a: \"x  \\ny\\n\"\nb: 1\n"},
		"flow and comment": {"a:\n  - {b: 1, c: [2,3]}\n\n# spare   \n# - {b: 2}\n", "a:\n  - {b: 1, c: [2, 3]}\n\n# spare\n# - {b: 2}\n"},
		"nothing":          {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			formed, err := canonical.Form([]byte(test.text))
			require.NoError(t, err)
			require.Equal(t, test.want, string(formed))
			again, err := canonical.Form(formed)
			require.NoError(t, err)
			require.Equal(t, test.want, string(again))
		})
	}
	_, err := canonical.Form([]byte("a: [\n"))
	require.ErrorIs(t, err, canonical.ErrNoYAML)
}

// TestInventoriesOfTheTests: each keeps its values and comments, and its canonical form does not change in a second pass.
func TestInventoriesOfTheTests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../internal/inventory/testdata/valid-*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		formed, err := canonical.Form(text)
		require.NoError(t, err, file)
		again, err := canonical.Form(formed)
		require.NoError(t, err, file)
		require.Equal(t, string(formed), string(again), file)
	}
}

// FuzzForm: for every text, its values and comments stay, and the canonical form of the result is the result itself.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"a: 1\n\n# why\nb:\n  - c\n", "a: |\n  x\n\n  y\n", "- a\n-  - b # c\n", "a: &x 1\nb: *x\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formed, err := canonical.Form([]byte(text))
		if err != nil {
			return
		}
		again, err := canonical.Form(formed)
		if err == nil && string(again) != string(formed) {
			t.Errorf("%q becomes %q, which becomes %q", text, formed, again)
		}
	})
}
