package explain_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/explain"
)

// covers lists the rows that may also match the errors of another row. They come after it in the table and count only if it does not
// match.
var covers = map[string][]string{
	"upgrade-image-absent":  {"installer-absent"},
	"upgrade-without-room":  {"root-full"},
	"upgrade-image-slow":    {"registry-away"},
	"storage-lock":          {"clone-failed"},
	"shared-storage-lock":   {"clone-failed"},
	"copy-broke":            {"clone-failed"},
	"permission":            {"permission-unnamed"},
	"no-bridge-use":         {"permission", "permission-unnamed"},
	"pool-absent":           {"permission-unnamed"},
	"root-only-device":      {"root-only"},
	"bootstrap-cut":         {"plugin-crashed"},
	"mapping-without-iommu": {"mapping-stale"},
	"storage-class":         {"immutable-field"},
}

// TestNoRowTakesWhatIsAnothers: only its own row and the rows in covers match an error, regardless of the order of the table.
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
