package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

// TestAnEmptyStateIsNone: a restore of a kit that was killed after `pulumi stack init` leaves one, and the next restore fills it.
func TestAnEmptyStateIsNone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, latest string
		empty        bool
	}{
		{"written without a resource", `,"latest":{"manifest":{"time":"2026-01-02T03:04:05Z","magic":"m","version":"v3.254.0"},"metadata":{}}`, true},
		{
			"with a resource",
			`,"latest":{"manifest":{"time":"2026-01-02T03:04:05Z","magic":"m","version":"v3.254.0"},"metadata":{},"resources":[{"urn":"urn:pulumi:k3s-dev::em-infra::a:b:C::d","type":"a:b:C"}]}`,
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := sessionWith(t, nil, false)
			root := t.TempDir()
			s.State().State = engine.State{Project: "em-infra", Stack: "k3s-dev", Env: map[string]string{"PULUMI_BACKEND_URL": "file://" + root}}
			file := filepath.Join(root, ".pulumi", "stacks", "em-infra", "k3s-dev.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(`{"version":3,"checkpoint":{"stack":"organization/em-infra/k3s-dev"`+test.latest+`}}`), 0o600))
			empty, err := s.HasEmptyState(t.Context())
			require.NoError(t, err)
			require.Equal(t, test.empty, empty)
		})
	}
}
