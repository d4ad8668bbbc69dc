package nodeops

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"google.golang.org/grpc"
)

// untilRead lets a client read why a node has ended its connection. By TLS 1.3 the client has sent its first request before the node looks
// at its certificate (RFC 8446, section 4.4). If the node refuses it, the client's next write fails with broken pipe or connection reset, and
// gRPC reports that in place of the alert, which says what is wrong with the certificate, and waits to be read.
//
// A connection through an HTTP proxy, as the environment may ask for, is made by gRPC itself: its own dialer would go past it.
func untilRead(address string) []grpc.DialOption {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if proxy != nil || err != nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, target string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
		if err != nil {
			return nil, err
		}
		return readToItsEnd{connection}, nil
	})}
}

// readToItsEnd is a connection whose end its reader reports, never its writer.
type readToItsEnd struct{ net.Conn }

// Write drops what the other side does not take any more: a read that follows returns what it has sent before, and then the end.
func (c readToItsEnd) Write(data []byte) (int, error) {
	written, err := c.Conn.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(data), nil
	}
	return written, err
}
