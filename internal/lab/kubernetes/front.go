package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// front forwards each address of a cluster's API to an API server. TLS passes through. It must be used by one goroutine only.
type front struct {
	opened map[netip.AddrPort]opened
}

// opened is an address of a front.
type opened struct {
	*forwarder
	target netip.AddrPort
}

func newFront() *front { return &front{opened: map[netip.AddrPort]opened{}} }

// serve forwards these addresses to their targets, and no others. The connections of an address with another target are closed. An
// address that cannot be opened does not affect the others.
func (f *front) serve(targets map[netip.AddrPort]netip.AddrPort) error {
	for address, running := range f.opened {
		if targets[address] != running.target {
			running.close()
			delete(f.opened, address)
		}
	}
	var errs []error
	for _, address := range slices.SortedFunc(maps.Keys(targets), netip.AddrPort.Compare) {
		if _, open := f.opened[address]; open {
			continue
		}
		target := targets[address]
		started, err := forward(address, func() (netip.AddrPort, bool) { return target, true })
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f.opened[address] = opened{started, target}
	}
	return errors.Join(errs...)
}

// close closes all connections.
func (f *front) close() {
	for address, running := range f.opened {
		running.close()
		delete(f.opened, address)
	}
}

// forwarder forwards the connections of one address.
type forwarder struct {
	target   func() (netip.AddrPort, bool) // of a new connection; false for none
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

// forward listens on an address. Port 0 is any free one.
func forward(address netip.AddrPort, target func() (netip.AddrPort, bool)) (*forwarder, error) {
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return nil, fmt.Errorf("listen for the Kubernetes API: %w", err)
	}
	f := &forwarder{target: target, listener: listener, open: map[net.Conn]struct{}{}}
	f.work.Go(f.accept)
	return f, nil
}

// address returns where the forwarder listens.
func (f *forwarder) address() netip.AddrPort { return f.listener.Addr().(*net.TCPAddr).AddrPort() }

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
	target, serves := f.target()
	if !serves {
		return // as below
	}
	server, err := net.Dial("tcp", target.String())
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
