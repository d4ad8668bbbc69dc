// Package pace gives the lab a pulse: everything that takes time on a real host takes a scaled share of it here.
package pace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// DefaultScale is the scale of a rehearsal nobody chose another for: a tenth of a small server's time.
const DefaultScale = 0.1

// leastTimeout keeps a scaled time limit above what a busy machine needs to do the work itself: at scale 0 the
// work costs no assumed time, but it is not finished in none.
const leastTimeout = 2 * time.Second

// ErrScale says that a scale is no number of at least zero.
var ErrScale = errors.New("time scale must be a number of 0 or more")

// Pace turns the assumed duration of an operation into the time that the lab spends on it.
// Its zero value spends none.
type Pace struct {
	scale float64
}

// New returns a pace that multiplies assumed durations by scale: 1 is the speed of a small server, 0 is no delay.
// It fails with ErrScale for a negative or undefined number.
func New(scale float64) (Pace, error) {
	if math.IsNaN(scale) || math.IsInf(scale, 0) || scale < 0 {
		return Pace{}, fmt.Errorf("%w, not %v: choose 0 for no delay, 1 for the speed of a small server", ErrScale, scale)
	}

	return Pace{scale: scale}, nil
}

// Scaled is the time that the lab spends on an operation of the assumed duration d.
func (p Pace) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * p.scale)
}

// Sleep spends the scaled duration, or returns the context's error when that ends first.
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

// Timeout is the scaled form of a time limit of the real host. It never falls below two seconds, since a limit
// guards real work too, which does not get faster with the scale.
func (p Pace) Timeout(d time.Duration) time.Duration {
	return max(p.Scaled(d), min(d, leastTimeout))
}
