// Package pace scales the durations of a real host for the lab.
package pace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// DefaultScale is the default scale of a rehearsal: a tenth of a small server's time.
const DefaultScale = 0.1

// leastTimeout is the minimum of a scaled time limit. At scale 0 the work costs no assumed time, but it still takes real time
// on a busy machine.
const leastTimeout = 2 * time.Second

// ErrScale is returned for a scale that is not a number of at least zero.
var ErrScale = errors.New("time scale must be a number of 0 or more")

// Pace converts the assumed duration of an operation to the lab's duration. The zero value has no delays.
type Pace struct {
	scale float64
}

// New returns a pace that multiplies durations by scale: 1 is the speed of a small server, 0 is no delay. The error is
// ErrScale for a negative or undefined number.
func New(scale float64) (Pace, error) {
	if math.IsNaN(scale) || math.IsInf(scale, 0) || scale < 0 {
		return Pace{}, fmt.Errorf("%w, not %v: choose 0 for no delay, 1 for the speed of a small server", ErrScale, scale)
	}

	return Pace{scale: scale}, nil
}

// Scaled returns the lab's duration for the assumed duration d.
func (p Pace) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * p.scale)
}

// Sleep waits for the scaled duration. It returns the context's error when the context ends first.
func (p Pace) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	scaled := p.Scaled(d)
	if scaled <= 0 {
		return nil
	}

	timer := time.NewTimer(scaled)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Timeout returns the scaled form of a time limit of the real host. It is at least two seconds, or d if that is shorter,
// because a limit also covers real work, which the scale does not speed up.
func (p Pace) Timeout(d time.Duration) time.Duration {
	return max(p.Scaled(d), min(d, leastTimeout))
}
