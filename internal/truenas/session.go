package truenas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// attempts is how often a piece of work is begun when connections break or the box is busy.
const attempts = 4

// pause is the time before the second attempt; it doubles.
const pause = time.Second

// Session is a client that connects when it is needed and stays connected: the box accepts 20 logins from an address within a minute
// (utils/rate_limit/cache.py), and a run does more pieces of work than that. It is safe for concurrent use.
type Session struct {
	connection Connection

	mu     sync.Mutex
	client *Client
}

// NewSession returns a session that is not connected yet.
func NewSession(connection Connection) *Session { return &Session{connection: connection} }

// Do does a piece of work. The work is begun again on a new connection if an answer was lost, so it looks up what is there before it
// writes: a write that was lost on the way back is found, and not repeated.
func (s *Session) Do(ctx context.Context, work func(context.Context, *Client) error) error {
	wait := pause
	for attempt := 1; ; attempt++ {
		err := s.once(ctx, work)
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

// once does the work on the connection that there is, or on a new one. A connection that broke is not used again.
func (s *Session) once(ctx context.Context, work func(context.Context, *Client) error) error {
	client, err := s.connected(ctx)
	if err != nil {
		return err
	}
	err = work(ctx, client)
	if errors.Is(err, ErrLost) {
		s.leave(client)
	}
	return err
}

func (s *Session) connected(ctx context.Context) (*Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		client, err := s.connection.Open(ctx)
		if err != nil {
			return nil, err
		}
		s.client = client
	}
	return s.client, nil
}

// leave closes a connection, unless another piece of work has done so.
func (s *Session) leave(client *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == client {
		_ = client.Close() // it is broken, or its work is over
		s.client = nil
	}
}

// Close ends the connection, if there is one.
func (s *Session) Close() {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client != nil {
		s.leave(client)
	}
}

// Do is [Session.Do] of a session for one piece of work.
func (c Connection) Do(ctx context.Context, work func(context.Context, *Client) error) error {
	session := NewSession(c)
	defer session.Close()
	return session.Do(ctx, work)
}
