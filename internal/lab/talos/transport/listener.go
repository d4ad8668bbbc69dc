// Package transport listens for the servers of an emulated node. It can cut single connections, like a network failure.
package transport

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/peer"
)

// Listeners are the open listeners of one node. It is safe for concurrent use.
type Listeners struct {
	all []net.Listener

	mu    sync.Mutex
	conns map[ends]net.Conn
}

// ends are the two addresses that identify a connection.
type ends struct{ local, remote string }

// Listen opens one listener on each address. If one fails, none stays open.
func Listen(ctx context.Context, addrs []netip.AddrPort) (*Listeners, error) {
	l := &Listeners{conns: map[ends]net.Conn{}}

	for _, addr := range addrs {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr.String())
		if err != nil {
			l.Close()

			return nil, fmt.Errorf("listen on %s: %w", addr, err)
		}

		l.all = append(l.all, &tracking{Listener: listener, owner: l})
	}

	return l, nil
}

// All returns the listeners, in the order of the addresses.
func (l *Listeners) All() []net.Listener { return l.all }

// Close closes the listeners, but not the connections.
func (l *Listeners) Close() {
	for _, listener := range l.all {
		_ = listener.Close() // it may already be closed
	}
}

// Cut closes the connection of this context's call, without an answer.
func (l *Listeners) Cut(ctx context.Context) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.LocalAddr == nil {
		return
	}

	l.mu.Lock()
	conn := l.conns[ends{p.LocalAddr.String(), p.Addr.String()}]
	l.mu.Unlock()

	if conn != nil {
		_ = conn.Close() // the peer sees the end in any case
	}
}

// tracking registers its open connections with their owner.
type tracking struct {
	net.Listener
	owner *Listeners
}

func (t *tracking) Accept() (net.Conn, error) {
	conn, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}

	c := &tracked{Conn: conn, owner: t.owner, ends: ends{conn.LocalAddr().String(), conn.RemoteAddr().String()}}

	t.owner.mu.Lock()
	t.owner.conns[c.ends] = c
	t.owner.mu.Unlock()

	return c, nil
}

type tracked struct {
	net.Conn
	owner *Listeners
	ends  ends
}

func (c *tracked) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c.ends)
	c.owner.mu.Unlock()

	return c.Conn.Close()
}
