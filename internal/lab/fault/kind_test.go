package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// TestAKindForUsers checks that the source is the name of the page, because its numbers mean nothing to users.
func TestAKindForUsers(t *testing.T) {
	t.Parallel()
	numbered := fault.Kind{Name: "stuck", About: "it is stuck", Source: "F12", Once: true}
	require.Equal(t, fault.Kind{Name: "stuck", About: "it is stuck", Source: "docs/failures.md", Once: true}, numbered.ForUsers())
	sourced := fault.Kind{Name: "stuck", Source: "QemuServer.pm"}
	require.Equal(t, sourced, sourced.ForUsers())
}
