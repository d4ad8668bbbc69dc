package nodeops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Connect returns a client for one node's own API and ignores the endpoints of the talosconfig. It does not dial yet. The
// error is [ErrTalosconfig].
func Connect(ctx context.Context, talosconfig []byte, address string) (*client.Client, error) {
	config, err := clientconfig.FromBytes(talosconfig)
	if err != nil {
		return nil, ErrTalosconfig
	}
	api, err := client.New(ctx, client.WithConfig(config), client.WithEndpoints(address), client.WithGRPCDialOptions(append(untilRead(address), impatient())...))
	if err != nil {
		return nil, ErrTalosconfig
	}
	return api, nil
}

// ErrForeign is returned when a node answers under another PKI (F7).
var ErrForeign = errors.New("its Talos API is not this cluster's: the node belongs to another, or has no configuration")

// ErrUntimely is returned when a certificate, the node's or the client's, is not valid by the clock of the other side.
var ErrUntimely = errors.New("a certificate of its Talos API is not valid at this time: compare the clocks of this computer and of its host")

// ErrSilent is matched by the errors of a node at whose address no Talos API answers: the node is off, cannot be reached, boots, or hangs.
var ErrSilent = errors.New("its Talos API does not answer")

// unreachedError is an address to which no connection could be made.
type unreachedError struct{ text string }

func (e *unreachedError) Error() string { return e.text }

func (e *unreachedError) Is(target error) bool { return target == ErrSilent }

// Ask runs calls against one node's own API. The error is one clause about that node, without its name.
func Ask(ctx context.Context, talosconfig []byte, address string, calls func(context.Context, *client.Client) error) error {
	return AskFor(ctx, callTimeout, talosconfig, address, calls)
}

// AskFor is [Ask] for calls that take longer. limit is the longest time for all of them together.
func AskFor(ctx context.Context, limit time.Duration, talosconfig []byte, address string, calls func(context.Context, *client.Client) error) error {
	api, err := Connect(ctx, talosconfig, address)
	if err != nil {
		return err
	}
	defer api.Close()
	call, cancel := context.WithTimeout(client.WithNode(ctx, address), limit)
	defer cancel()
	err = calls(call, api)
	_, answered := status.FromError(err)
	switch {
	case err == nil:
		return nil
	case isDeadline(err) && ctx.Err() != nil: // the context of the caller has ended
		return fmt.Errorf("its Talos API has not answered in time (%w)", context.Cause(ctx))
	case isDeadline(err) && call.Err() != nil:
		return ErrSilent
	case isDeadline(err): // a limit within the node
		return fmt.Errorf("its Talos API: %s", status.Convert(err).Message())
	case isUntimely(err):
		return ErrUntimely
	case isUnderAnotherPKI(err):
		return ErrForeign
	case isUnreached(err):
		return &unreachedError{"its Talos API: " + answerOf(err)}
	case answered:
		return fmt.Errorf("its Talos API: %s", answerOf(err))
	default:
		return err
	}
}

// isDeadline reports whether a call has failed because its time ran out.
func isDeadline(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}

// isUnreached reports whether a call has failed because no connection could be made: nothing accepts it, or what accepts it does not answer the TLS
// handshake before the limit of [impatient]. The end of an existing connection does not count (grpc-go, internal/transport/http2_client.go,
// NewHTTP2Client).
func isUnreached(err error) bool {
	return status.Code(err) == codes.Unavailable && (strings.Contains(err.Error(), "transport: Error while dialing") ||
		strings.Contains(err.Error(), "transport: authentication handshake failed: context deadline exceeded"))
}
