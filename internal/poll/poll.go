// Package poll is the one loop for all waits without a notification.
package poll

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Until calls ask at once, and then in every interval until it is done or fails, or ctx ends. It calls ask at least once, even
// if ctx has already ended. It returns the error of ask unchanged, or else why ctx has ended.
func Until(ctx context.Context, interval time.Duration, ask func(ctx context.Context) (done bool, err error)) error {
	var failed error
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (done bool, err error) {
		done, failed = ask(ctx)
		return done, failed
	})
	if err != nil && failed == nil {
		return context.Cause(ctx)
	}
	return err
}
