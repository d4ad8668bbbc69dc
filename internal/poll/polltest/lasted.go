package polltest

import (
	"testing"
	"time"
)

// Lasted fails the test unless a wait that began then has lasted as long as that, or a twentieth longer: so late may a question be.
func Lasted(t testing.TB, want time.Duration, began time.Time) {
	t.Helper()
	if lasted := time.Since(began); lasted < want || lasted > want+want/20 {
		t.Fatalf("it has lasted %s, and not %s", lasted, want)
	}
}
