package packageschema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/packageschema"
)

func TestWithVersion(t *testing.T) {
	t.Parallel()
	got, err := packageschema.WithVersion([]byte(`{"name": "talos", "resources": {"a": {}}}`), "0.7.1")
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "talos", "resources": {"a": {}}, "version": "0.7.1"}`, string(got))

	_, err = packageschema.WithVersion([]byte(`{`), "0.7.1")
	require.EqualError(t, err, "read the package schema: unexpected end of JSON input")
}
