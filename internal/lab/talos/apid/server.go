// Package apid is the front of an emulated Talos node. It listens with mutual TLS, reads the caller's roles from the client
// certificate, and forwards each call to this node's machined or to other nodes.
package apid

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/factory"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Options of a server. All but Forward are required.
type Options struct {
	// Listeners of the server.
	Listeners []net.Listener
	// TLS has the server certificate and the authorities for client certificates.
	TLS *tls.Config
	// Forward is the TLS configuration for calls to other nodes; nil on a worker, which does not forward.
	Forward *tls.Config
	// Port of the Talos API on the other nodes.
	Port uint16
	// Machined dials the node's own services.
	Machined func(context.Context) (net.Conn, error)
	// IsLocal reports whether a target of a client is this node.
	IsLocal func(target string) bool
	// Guard intercepts every call after its roles are known.
	Guard grpc.StreamServerInterceptor
}

// Server is a running apid.
type Server struct {
	grpc    *grpc.Server
	socket  socket
	local   *local
	remotes *remotes
	serving sync.WaitGroup
}

// Serve starts to serve on all listeners, and takes ownership of them.
func Serve(o Options) (*Server, error) {
	machined, err := newLocal(o.Machined)
	if err != nil {
		return nil, err
	}

	s := &Server{local: machined}
	if o.Forward != nil {
		s.remotes = &remotes{port: o.Port, tls: o.Forward, nodes: map[string]*remote{}}
	}

	router := &director{local: machined, remotes: s.remotes, isLocal: o.IsLocal}
	s.grpc, s.socket = newServer(o, router), newSocket(router)

	s.serving.Go(func() { _ = s.socket.grpc.Serve(s.socket.listener) })

	for _, listener := range o.Listeners {
		// Serve returns when the server stops; nothing can be done about its error then.
		s.serving.Go(func() { _ = s.grpc.Serve(listener) })
	}

	return s, nil
}

// Renew makes calls to other nodes use another TLS configuration; nothing on a worker, which does not forward.
func (s *Server) Renew(forward *tls.Config) error {
	if s.remotes == nil {
		return nil
	}

	return s.remotes.renew(forward)
}

// register makes the factory leave all methods to the proxy.
type register struct{}

func (register) Register(*grpc.Server) {}

func newServer(o Options, router *director) *grpc.Server {
	injector := &authz.Injector{Mode: authz.Enabled}

	return factory.NewServer(register{},
		factory.ServerOptions(
			grpc.Creds(credentials.NewTLS(o.TLS)),
			grpc.ForceServerCodecV2(proxy.Codec()),
			grpc.UnknownServiceHandler(proxy.TransparentHandler(router.direct, proxy.WithStreamedDetector(streamed))),
			grpc.MaxRecvMsgSize(constants.GRPCMaxMessageSize),
			grpc.WaitForHandlers(true),
		),
		factory.WithStreamInterceptor(injector.StreamInterceptor()),
		factory.WithStreamInterceptor(o.Guard),
	)
}

// Stop lets running calls finish within the grace period, and then ends all calls.
func (s *Server) Stop(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()

	factory.ServerGracefulStop(s.grpc, ctx)
	s.socket.grpc.Stop()
	s.serving.Wait()

	errs := []error{s.local.conn.Close()}
	if s.remotes != nil {
		errs = append(errs, s.remotes.close())
	}

	return errors.Join(errs...)
}
