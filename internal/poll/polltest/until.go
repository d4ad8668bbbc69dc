// Package polltest is the one loop of tests that wait for what nothing tells them of. It asks on the goroutine of the test, so that
// whatever is asked may end the test, and for as long as no machine takes that works at all.
package polltest

import (
	"fmt"
	"testing"
	"time"
)

// The limit says that something will never be; what is slow ends long before.
const (
	limit = 10 * time.Minute
	// Between two questions passes a twentieth of the time waited so far, within these bounds: a question can cost a TLS handshake, and a
	// thousand of them more than what is waited for.
	share    = 20
	shortest = 5 * time.Millisecond
	longest  = 100 * time.Millisecond
)

// Until asks until it is so. Otherwise it fails the test and says what was waited for.
func Until(t testing.TB, is func() bool, what ...any) {
	t.Helper()
	Succeeds(t, func() error {
		if !is() {
			return fmt.Errorf("it is not so: %s", fmt.Sprint(what...))
		}
		return nil
	})
}

// Succeeds tries until it succeeds, or fails the test with the last error.
func Succeeds(t testing.TB, try func() error) {
	t.Helper()
	begun := time.Now()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Since(begun) > limit {
			t.Fatalf("%s later: %s", limit, err)
		}
		time.Sleep(min(max(time.Since(begun)/share, shortest), longest))
	}
}
