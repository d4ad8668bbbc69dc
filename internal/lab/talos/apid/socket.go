package apid

import (
	"context"
	"net"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/factory"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// socketBuffer is the size of the buffer of a connection to the socket, in bytes, for each direction.
const socketBuffer = 64 << 10

// socket is apid's listener for the node's own services: without TLS, with the caller's roles in the metadata (talos
// internal/app/apid/main.go). Talos uses a socket file; here it is in memory.
type socket struct {
	listener *bufconn.Listener
	grpc     *grpc.Server
}

func newSocket(router *director) socket {
	injector := &authz.Injector{Mode: authz.MetadataOnly}

	return socket{
		listener: bufconn.Listen(socketBuffer),
		grpc: factory.NewServer(register{},
			factory.ServerOptions(
				grpc.ForceServerCodecV2(proxy.Codec()),
				grpc.UnknownServiceHandler(proxy.TransparentHandler(router.direct, proxy.WithStreamedDetector(streamed))),
				grpc.MaxRecvMsgSize(constants.GRPCMaxMessageSize),
				grpc.WaitForHandlers(true),
			),
			factory.WithStreamInterceptor(injector.StreamInterceptor()),
		),
	}
}

// Connect returns a connection for a service of this node that calls its own API, or the API of other nodes.
func (s *Server) Connect(ctx context.Context) (net.Conn, error) {
	return s.socket.listener.DialContext(ctx)
}
