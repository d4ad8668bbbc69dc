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

// front forwards each address of a cluster's API to the one API server. TLS passes through. It must be used by one goroutine
// only.
type front struct {
	forwarders map[netip.AddrPort]*forwarder
}

func newFront() *front { return &front{forwarders: map[netip.AddrPort]*forwarder{}} }

// serve forwards these addresses and no others. An address that cannot be opened does not affect the others.
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

// close closes all connections.
func (f *front) close() {
	for address, running := range f.forwarders {
		running.close()
		delete(f.forwarders, address)
	}
}

// forwarder forwards one address of a front.
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

// connect copies data between a client and the API server until either side closes.
func (f *forwarder) connect(client net.Conn) {
	if !f.keep(client) {
		return
	}
	defer f.drop(client)
	server, err := net.Dial("tcp", f.target.String())
	if err != nil || !f.keep(server) {
		return // the client sees a closed connection, as with a node whose API server is down
	}
	defer f.drop(server)
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		f.work.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // ends with either connection; the error has no receiver
			done <- struct{}{}
		})
	}
	<-done
}

// keep registers a connection, so that close closes it. It returns false if close was already called.
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
