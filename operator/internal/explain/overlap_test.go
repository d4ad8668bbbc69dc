package explain_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/explain"
)

// covers are the rows that may know an error of another as well, and why that is no mistake: they come after it and are taken only
// where it does not know more.
var covers = map[string][]string{
	"storage-lock":        {"clone-failed"},
	"shared-storage-lock": {"clone-failed"},
	"copy-broke":          {"clone-failed"},
	"permission":          {"permission-unnamed"},
	"no-bridge-use":       {"permission", "permission-unnamed"},
	"pool-absent":         {"permission-unnamed"},
	"root-only-device":    {"root-only"},
	"bootstrap-cut":       {"plugin-crashed"},
}

// TestNoRowTakesWhatIsAnothers: an error is known by its own row alone, whatever the order of the table, but for those that cover it.
func TestNoRowTakesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	for name, texts := range examples {
		for _, text := range texts {
			others := slices.DeleteFunc(explain.Matching(text), func(other string) bool {
				return other == name || slices.Contains(covers[name], other)
			})
			require.Empty(t, others, "%s: %s", name, text)
		}
	}
}
