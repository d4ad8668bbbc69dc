package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// front is where a cluster's API answers: each of its addresses forwards to the one API server. TLS passes through.
// It belongs to one goroutine.
type front struct {
	forwarders map[netip.AddrPort]*forwarder
}

func newFront() *front { return &front{forwarders: map[netip.AddrPort]*forwarder{}} }

// serve answers on these addresses and no others. One that cannot be opened does not keep the others closed.
func (f *front) serve(target netip.AddrPort, addresses []netip.AddrPort) error {
	for address, running := range f.forwarders {
		if !slices.Contains(addresses, address) || running.target != target {
			running.close()
			delete(f.forwarders, address)
		}
	}
	var errs []error
	for _, address := range addresses {
		if f.forwarders[address] != nil {
			continue
		}
		started, err := forward(address, target)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f.forwarders[address] = started
	}
	return errors.Join(errs...)
}

// close breaks all connections.
func (f *front) close() {
	for address, running := range f.forwarders {
		running.close()
		delete(f.forwarders, address)
	}
}

// forwarder is one address of a front.
type forwarder struct {
	target   netip.AddrPort
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

func forward(address, target netip.AddrPort) (*forwarder, error) {
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return nil, fmt.Errorf("listen for the Kubernetes API: %w", err)
	}
	f := &forwarder{target: target, listener: listener, open: map[net.Conn]struct{}{}}
	f.work.Go(f.accept)
	return f, nil
}

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		f.work.Go(func() { f.connect(client) })
	}
}

// connect joins a client with the API server until either hangs up.
func (f *forwarder) connect(client net.Conn) {
	if !f.keep(client) {
		return
	}
	defer f.drop(client)
	server, err := net.Dial("tcp", f.target.String())
	if err != nil || !f.keep(server) {
		return // the client sees its connection close, as with a node whose API server is down
	}
	defer f.drop(server)
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		f.work.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // ends with either connection; there is nobody to tell why
			done <- struct{}{}
		})
	}
	<-done
}

// keep notes a connection, so that close breaks it; it is false when that has happened.
func (f *forwarder) keep(connection net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		connection.Close()
		return false
	}
	f.open[connection] = struct{}{}
	return true
}

func (f *forwarder) drop(connection net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	connection.Close()
	delete(f.open, connection)
}

func (f *forwarder) close() {
	f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for connection := range f.open {
		connection.Close()
	}
	f.mu.Unlock()
	f.work.Wait()
}
