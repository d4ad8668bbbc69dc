package apid

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// remotes holds the connections to other nodes while the node is up. It is safe for concurrent use.
type remotes struct {
	port uint16
	tls  *tls.Config

	mu    sync.Mutex
	nodes map[string]*remote
}

// errTarget is Talos' error for an empty target or one with a port.
var errTarget = errors.New("invalid target")

func (r *remotes) get(target string) (proxy.Backend, error) {
	if _, err := netip.ParseAddrPort(target); err == nil || target == "" {
		return nil, fmt.Errorf("%w %q", errTarget, target)
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if known := r.nodes[target]; known != nil {
		return known, nil
	}

	conn, err := dial(address(target, r.port), r.tls)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", target, err)
	}

	node := &remote{target: target, conn: conn}
	r.nodes[target] = node

	return node, nil
}

func (r *remotes) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.flush()
}

// flush closes all connections. The caller holds the lock.
func (r *remotes) flush() error {
	var errs []error
	for _, node := range r.nodes {
		errs = append(errs, node.conn.Close())
	}

	r.nodes = map[string]*remote{}

	return errors.Join(errs...)
}

// renew closes all connections, so that those to come trust other authorities (internal/app/apid/pkg/backend, Flush). Calls on them
// end.
func (r *remotes) renew(config *tls.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.tls = config

	return r.flush()
}

// address adds the port of the Talos API to a target, which may be a hostname.
func address(target string, port uint16) string {
	if addr, err := netip.ParseAddr(target); err == nil {
		return netip.AddrPortFrom(addr, port).String()
	}

	return fmt.Sprintf("%s:%d", target, port)
}

// dial uses the connection parameters of Talos' apid (internal/app/apid/pkg/backend).
func dial(address string, config *tls.Config) (*grpc.ClientConn, error) {
	patience := backoff.DefaultConfig
	patience.MaxDelay = 15 * time.Second

	return grpc.NewClient(address,
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: patience, MinConnectTimeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(constants.GRPCMaxMessageSize), grpc.ForceCodecV2(proxy.Codec())),
		grpc.WithNoProxy(),
	)
}

// remote is the apid of another node, or this node's own when the caller names it.
type remote struct {
	target string
	conn   *grpc.ClientConn
}

func (r *remote) String() string { return r.target }

// GetConnection forwards the caller's roles as metadata. The other node trusts them because this node's certificate has the
// role impersonator.
func (r *remote) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	md := incoming.Copy()

	authz.SetMetadata(md, authz.GetRoles(ctx))

	from := md[":authority"]
	if len(from) == 0 {
		from = []string{"unknown"}
	}

	md.Set(proxied, from...)

	for _, hop := range []string{":authority", nodeKey, nodesKey} {
		delete(md, hop)
	}

	return metadata.NewOutgoingContext(ctx, md), r.conn, nil
}

// AppendInfo adds the name of the node to an answer. A unary answer is a message whose field 1 holds the reply, and field 1
// of the reply is its metadata. Metadata that is appended to the reply takes effect without decoding.
func (r *remote) AppendInfo(streaming bool, answer []byte) ([]byte, error) {
	mark, err := proto.Marshal(&common.Empty{Metadata: &common.Metadata{Hostname: r.target}})
	if err != nil || streaming {
		return append(answer, mark...), err
	}

	number, kind, n := protowire.ConsumeTag(answer)
	if n < 0 {
		return nil, fmt.Errorf("answer of %s: %w", r.target, protowire.ParseError(n))
	}

	if number != 1 || kind != protowire.BytesType {
		return nil, fmt.Errorf("answer of %s begins with field %d of type %d, not with a reply", r.target, number, kind)
	}

	_, length := protowire.ConsumeVarint(answer[n:])
	if length < 0 {
		return nil, fmt.Errorf("answer of %s: %w", r.target, protowire.ParseError(length))
	}

	reply := slices.Concat(answer[n+length:], mark)

	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), reply), nil
}

// BuildError turns the failure of one node among several into an answer.
func (r *remote) BuildError(streaming bool, failure error) ([]byte, error) {
	empty := &common.Empty{Metadata: &common.Metadata{
		Hostname: r.target, Error: failure.Error(), Status: status.Convert(failure).Proto(),
	}}

	if streaming {
		return proto.Marshal(empty)
	}

	return proto.Marshal(&common.EmptyResponse{Messages: []*common.Empty{empty}})
}
