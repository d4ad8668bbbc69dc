package polltest

import (
	"testing"
	"time"
)

// Lasted fails the test unless a wait that began at began has lasted for want, or up to a twentieth longer: the last question may come that late.
func Lasted(t testing.TB, want time.Duration, began time.Time) {
	t.Helper()
	if lasted := time.Since(began); lasted < want || lasted > want+want/20 {
		t.Fatalf("it has lasted %s, and not %s", lasted, want)
	}
}
