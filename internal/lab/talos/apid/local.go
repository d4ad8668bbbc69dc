package apid

import (
	"context"
	"fmt"
	"net"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// local is the node's own machined. Talos uses a socket file. Here the connection stays in memory, so that no path has to fit
// into the 108 bytes of a socket address.
type local struct{ conn *grpc.ClientConn }

func newLocal(connect func(context.Context) (net.Conn, error)) (*local, error) {
	conn, err := grpc.NewClient("passthrough:machined",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return connect(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(constants.GRPCMaxMessageSize), grpc.ForceCodecV2(proxy.Codec())),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to machined: %w", err)
	}

	return &local{conn: conn}, nil
}

func (l *local) String() string { return "machined" }

// GetConnection passes the caller's roles on as metadata. machined uses nothing else.
func (l *local) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	md := incoming.Copy()

	authz.SetMetadata(md, authz.GetRoles(ctx))

	return metadata.NewOutgoingContext(ctx, md), l.conn, nil
}

// AppendInfo returns the answer unchanged: only forwarded answers carry the name of their node.
func (l *local) AppendInfo(_ bool, answer []byte) ([]byte, error) { return answer, nil }

// BuildError is never used, because a local call has one answer.
func (l *local) BuildError(bool, error) ([]byte, error) { return nil, nil }
