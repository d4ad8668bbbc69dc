package proxmox_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/pace"
)

func trimmed(s string) string { return strings.TrimSpace(s) }

func scaled(t testing.TB, scale float64) pace.Pace {
	t.Helper()

	p, err := pace.New(scale)
	require.NoError(t, err)

	return p
}

// eventually is the limit for independent clients, which poll by themselves. No machine takes that long.
const eventually = 10 * time.Minute

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
