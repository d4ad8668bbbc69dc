// Package polltest is the one loop of tests that wait without a notification. It asks on the goroutine of the test, so that the question may end the
// test. Its limit is longer than any working machine needs.
package polltest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// After the limit, the condition will never hold; slow machines need far less. A question can cost a TLS handshake, so a wait asks less often the
// longer it lasts, as [poll.Until] does.
const (
	limit   = 10 * time.Minute
	longest = 100 * time.Millisecond
)

// Until asks until is returns true. At the limit it fails the test with what was waited for.
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
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var err error
	if poll.Until(ctx, longest, func(context.Context) (bool, error) {
		err = try()
		return err == nil, nil
	}) != nil {
		t.Fatalf("%s later: %s", limit, err)
	}
}
