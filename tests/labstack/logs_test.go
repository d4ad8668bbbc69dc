package labstack_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/truenas"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestNASCalls reads the log of a NAS as the lab writes it, and distinguishes the calls that may have changed something.
func TestNASCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	methods, err := labstack.NASCalls(dir)
	require.NoError(t, err)
	require.Empty(t, methods, "there is no NAS")

	log := `{"method":"auth.login_ex"}` + "\n" + `{"method":"pool.dataset.query","user":"em-infra"}` + "\n" + `{"method":"pool.dataset.delete","user":"em-infra","error":"busy"}` + "\n"
	require.NoError(t, os.WriteFile(lab.NASCalls(dir), []byte(log), 0o600))
	methods, err = labstack.NASCalls(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"auth.login_ex", "pool.dataset.query", "pool.dataset.delete"}, methods)
	require.Equal(t, []string{"pool.dataset.delete"}, labstack.NASWrites(methods), "also a call that failed")
}

// TestNASWrites checks that the writes among all methods of the lab's NAS are those whose names end with a verb of a change.
func TestNASWrites(t *testing.T) {
	t.Parallel()
	var writes []string
	for _, method := range truenas.Methods() {
		if slices.Contains([]string{"create", "update", "delete", "control"}, method[strings.LastIndex(method, ".")+1:]) {
			writes = append(writes, method)
		}
	}
	require.Greater(t, len(writes), 30)
	require.Equal(t, writes, labstack.NASWrites(truenas.Methods()))
}
