package talos

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/siderolabs/talos/pkg/grpc/factory"
	"google.golang.org/grpc"

	"github.com/em-infra/em-infra/internal/lab/talos/transport"
)

// conflictInterval is how often a node checks whether its address, which another machine uses, is free.
const conflictInterval = 200 * time.Millisecond

// listen opens the node's addresses. While another machine uses one of them, the addresses conflict and this machine receives
// nothing, so listen waits until they are free.
func (s *system) listen(ctx context.Context, addresses []netip.Prefix) (*transport.Listeners, error) {
	var ends []netip.AddrPort
	for _, address := range addresses {
		ends = append(ends, netip.AddrPortFrom(address.Addr(), s.fleet.config.Port))
	}

	for reported := false; ; {
		listeners, err := transport.Listen(ctx, ends)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return listeners, err
		}

		if !reported {
			s.vm.note(StepListen, err, s.fleet.config.Now())
			reported = true
		}

		select {
		case <-time.After(conflictInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// setFront sets the server that answers on the node's addresses.
func (s *system) setFront(front stoppable) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.front = front
}

// closeFront stops the server on the node's addresses, if there is one.
func (s *system) closeFront(patience time.Duration) error {
	s.mu.Lock()
	front := s.front
	s.front = nil
	s.mu.Unlock()

	if front == nil {
		return nil
	}

	return front.Stop(patience)
}

// grpcServer is a gRPC server with its listeners.
type grpcServer struct {
	server  *grpc.Server
	serving sync.WaitGroup
}

func serveGRPC(server *grpc.Server, listeners *transport.Listeners) *grpcServer {
	g := &grpcServer{server: server}

	for _, listener := range listeners.All() {
		// Serve returns when the server stops; nothing can be done about its error then.
		g.serving.Go(func() { _ = g.server.Serve(listener) })
	}

	return g
}

// Stop implements stoppable.
func (g *grpcServer) Stop(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	factory.ServerGracefulStop(g.server, ctx)
	g.serving.Wait()

	return nil
}
