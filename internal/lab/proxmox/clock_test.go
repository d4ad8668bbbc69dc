package proxmox_test

import (
	"sync/atomic"
	"time"
)

// clock is a host's clock that only the test moves.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Now().UnixNano())

	return c
}

func (c *clock) now() time.Time { return time.Unix(0, c.at.Load()) }

func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }
