package propertymap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

func TestChangeKeepsSecretsMarked(t *testing.T) {
	t.Parallel()
	set := func(object map[string]any) error { object["new"] = "value"; return nil }
	for _, test := range []struct {
		name        string
		value, want any
	}{
		{"in clear", map[string]any{"inner": map[string]any{"old": 1.0}}, map[string]any{"inner": map[string]any{"old": 1.0, "new": "value"}}},
		{"as a whole", sealed(`{"inner":{"old":1}}`), sealed(`{"inner":{"new":"value","old":1}}`)},
		{"the object", map[string]any{"inner": sealed(`{"old":1}`)}, map[string]any{"inner": sealed(`{"new":"value","old":1}`)}},
	} {
		changed, err := propertymap.Change(test.value, set, "inner")
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, changed, test.name)
	}
	for _, bad := range []any{nil, "text", map[string]any{"inner": "text"}, sealed(nil), sealed("{")} {
		_, err := propertymap.Change(bad, set, "inner")
		require.Equal(t, propertymap.ErrSealed, err)
	}
}
