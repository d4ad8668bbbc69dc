package truenas

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/remedy"
)

// attempts is how often a piece of work is begun when connections break or the box is busy.
const attempts = 4

// pause is the time before the second attempt; it doubles.
const pause = time.Second

// loginPause is the time before another login if there were too many, and loginPatience how long the login is tried: the box forgets former logins
// after a minute.
const (
	loginPause    = 5 * time.Second
	loginPatience = 65 * time.Second
)

// errTooManyLogins is the refusal of a login by a box that counts them.
var errTooManyLogins = remedy.Errorf("wait a minute and run it again", "TrueNAS refuses the login: there were more than 20 from this address within a minute")

// Session is a client that connects when it is needed and stays connected: the box accepts 20 logins from an address within a minute
// (utils/rate_limit/cache.py), and a run does more pieces of work than that. It is safe for concurrent use.
type Session struct {
	connection Connection
	loginPause time.Duration

	mu     sync.Mutex
	client *Client
}

// NewSession returns a session that is not connected yet.
func NewSession(connection Connection) *Session {
	return &Session{connection: connection, loginPause: loginPause}
}

// Do does a piece of work. The work is begun again on a new connection if an answer was lost, so it must look up what is there before it writes: it
// then finds a write whose answer was lost, and does not repeat it.
func (s *Session) Do(ctx context.Context, work func(context.Context, *Client) error) error {
	wait, logins := pause, 0
	for attempt := 1; ; {
		err := s.once(ctx, work)
		busy := new(Error)
		next := wait
		switch {
		case errors.Is(err, errTooManyLogins) && logins < int(loginPatience/loginPause):
			logins++
			next = s.loginPause
		case (errors.Is(err, ErrLost) || errors.As(err, &busy) && busy.Code == codeTooManyCalls) && attempt < attempts:
			attempt++
			wait *= 2
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return &endedError{why: ctx.Err(), last: err}
		case <-time.After(next):
		}
	}
}

// endedError is the failure of the last attempt before the context ended: it states what failed and what to do, which the end of the context does not.
type endedError struct{ why, last error }

func (e *endedError) Error() string { return e.last.Error() }

func (e *endedError) Unwrap() []error { return []error{e.last, e.why} }

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
