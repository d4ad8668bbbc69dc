package labstack_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestALogIsReadAsItGrows: line by line, no matter how much of a line is written, and from its beginning after it was begun anew.
func TestALogIsReadAsItGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := labstack.LogOfNodes(dir)
	reads := func(steps ...string) {
		t.Helper()
		lines, err := log.Read()
		require.NoError(t, err)
		var found []string
		for _, line := range lines {
			found = append(found, line.Step)
		}
		require.Equal(t, steps, found)
	}
	reads()
	for _, written := range []struct {
		text  string
		steps []string
	}{
		{`{"step":"boot"}` + "\n" + `{"step":"ser`, []string{"boot"}},
		{`{"step":"boot"}` + "\n" + `{"step":"services"}` + "\n", []string{"boot", "services"}},
		{`{"step":"boot"}` + "\n" + `{"step":"services"}` + "\n" + `{"step":"stop"}` + "\n", []string{"boot", "services", "stop"}},
		{`{"step":"install"}` + "\n", []string{"install"}},
	} {
		require.NoError(t, os.WriteFile(lab.NodeCalls(dir), []byte(written.text), 0o600))
		reads(written.steps...)
	}
	require.NoError(t, os.WriteFile(lab.NodeCalls(dir), []byte(`{"step":"install"}`+"\n"+"no JSON\n"), 0o600))
	_, err := log.Read()
	require.Error(t, err)
}
