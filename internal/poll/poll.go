// Package poll is the one loop for all waits without a notification.
package poll

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// share is the part of the time waited so far that passes until the next question, so that a wait gets longer by no more than it, apart
	// from the shortest interval.
	share = 20
	// shortest is the part of the longest interval that passes at least, so that short waits do not become a storm of questions.
	shortest = 10
)

// Until calls ask at once, and then again and again until it is done or fails, or ctx ends. Between two calls passes a twentieth of the
// time waited so far, but not more than longest, and not less than a tenth of that. It calls ask at least once, even if ctx has already
// ended. It returns the error of ask unchanged, or else why ctx has ended.
func Until(ctx context.Context, longest time.Duration, ask func(ctx context.Context) (done bool, err error)) error {
	var failed error
	begun := time.Now()
	next := wait.DelayFunc(func() time.Duration { return min(max(time.Since(begun)/share, longest/shortest), longest) })
	err := next.Until(ctx, true, true, func(ctx context.Context) (done bool, err error) {
		done, failed = ask(ctx)
		return done, failed
	})
	if err != nil && failed == nil {
		return context.Cause(ctx)
	}
	return err
}
