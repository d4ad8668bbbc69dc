package truenas

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempts is how often a piece of work is begun when connections break or the box is busy.
const attempts = 4

// pause is the time before the second attempt; it doubles.
const pause = time.Second

// Do connects, does a piece of work, and closes the connection. The work is begun again on a new connection if an answer was lost, so it
// looks up what is there before it writes: a write that was lost on the way back is found, and not repeated.
func (c Connection) Do(ctx context.Context, work func(context.Context, *Client) error) error {
	wait := pause
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, work)
		busy := new(Error)
		again := errors.Is(err, ErrLost) || errors.As(err, &busy) && busy.Code == codeTooManyCalls
		if !again || attempt == attempts || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(wait):
			wait *= 2
		}
	}
}

func (c Connection) once(ctx context.Context, work func(context.Context, *Client) error) error {
	client, err := c.Open(ctx)
	if err != nil {
		return err
	}
	err = work(ctx, client)
	_ = client.Close() // the work is over, and its error is what counts
	return err
}
