package talos

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// downloadRetry is the shortest interval between two attempts to pull an image, before scaling
// (internal/pkg/containers/image/image.go, PullRetryInterval).
const downloadRetry = 5 * time.Second

// isInstaller reports whether an image is an installer, by its name.
func isInstaller(ref string) bool { return strings.Contains(ref, "installer") }

// download takes the time of a pull. An attempt that fails is repeated until the call ends. Only the kernel's log has the
// cause, once (internal/pkg/containers/image/image.go, Pull, and the retries of siderolabs/go-retry). An installer image that does
// not exist is an error at once, which the caller detects before.
func (s *system) download(ctx context.Context, ref string) error {
	step, took := StepImage, s.fleet.config.Durations.Image
	if isInstaller(ref) {
		step, took = StepPull, s.fleet.config.Durations.Pull
	}

	for logged := ""; ; {
		err := s.vm.step(ctx, step, took)
		if err == nil || ctx.Err() != nil {
			return err
		}

		if cause := notPulled(ref, err).Error(); cause != logged {
			logged = cause
			s.kernel.printk("[talos] retrying error: "+cause, s.fleet.config.Now())
		}

		if err := s.vm.untilRetry(ctx, downloadRetry); err != nil {
			return err
		}
	}
}

func notPulled(ref string, cause error) error {
	return fmt.Errorf("failed to pull image %q: %w", ref, cause)
}

// unresolved returns the error for an image that does not exist, as the set of errors that the retries return.
func unresolved(ref string, cause error) error {
	return fmt.Errorf("1 error(s) occurred:\n\t%w", notPulled(ref, fmt.Errorf("failed to resolve image: %w", cause)))
}
