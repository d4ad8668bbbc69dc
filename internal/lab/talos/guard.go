package talos

import (
	"context"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos/apid"
	"github.com/em-infra/em-infra/internal/lab/talos/transport"
)

// guard intercepts every call of a node, in maintenance mode and afterwards. It applies faults and writes the log.
type guard struct {
	vm        *vm
	listeners *transport.Listeners
	// forwards reports whether calls with a target node are forwarded to it, even to this node itself.
	forwards bool
}

func (g *guard) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return g.pass(stream.Context(), info.FullMethod, func() error { return handle(srv, stream) })
}

func (g *guard) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	err = g.pass(ctx, info.FullMethod, func() error {
		answer, err = handle(ctx, request)

		return err
	})

	return answer, err
}

// pass runs the call with the effects of faults. A forwarded call is affected on its target node.
func (g *guard) pass(ctx context.Context, method string, handle func() error) error {
	began := g.vm.fleet.config.Now()

	if g.forwards && !apid.Forwarded(ctx) && apid.Target(ctx) != "" {
		err := handle()
		g.log(ctx, method, err, began)

		return err
	}

	err := g.trigger(ctx, Point{Name: method})
	if err == nil {
		err = handle()
		if occurred := g.trigger(ctx, Point{Name: method, Done: true}); occurred != nil {
			err = occurred
		}
	}

	g.log(ctx, method, err, began)

	return err
}

func (g *guard) trigger(ctx context.Context, point Point) error {
	point.VMID = g.vm.facts().VMID

	switch effect := g.vm.fleet.config.Faults.At(point); {
	case effect.Hang:
		<-ctx.Done()

		return status.FromContextError(ctx.Err()).Err()
	case effect.Cut:
		g.listeners.Cut(ctx)

		return status.Error(codes.Unavailable, "the connection was cut")
	default:
		return effect.Err
	}
}

func (g *guard) log(ctx context.Context, method string, err error, began time.Time) {
	line := logLine{
		VMID: g.vm.facts().VMID, Node: g.vm.address(), Method: method,
		Target: apid.Target(ctx), Forwarded: apid.Forwarded(ctx),
		Roles: authz.GetRoles(ctx).Strings(), Code: status.Code(err).String(),
	}

	line.Client = strings.Join(metadata.ValueFromIncomingContext(ctx, "user-agent"), " ")
	if from, ok := peer.FromContext(ctx); ok {
		line.Peer = from.Addr.String()
	}

	g.vm.fleet.log.write(line, began)
}
