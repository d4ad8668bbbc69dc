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

// untilRead lets a client read why a node has ended its connection. By TLS 1.3 the client has sent its first request before the node looks at its
// certificate (RFC 8446, section 4.4). If the node refuses it, the client's next write fails with broken pipe or connection reset, and gRPC reports
// that error instead of the alert, which states what is wrong with the certificate and can still be read.
//
// If the environment asks for an HTTP proxy, gRPC itself makes the connection: a dialer of our own would bypass the proxy.
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

// readToItsEnd is a connection whose end is reported by reads, never by writes.
type readToItsEnd struct{ net.Conn }

// Write drops data that the other side no longer accepts. Later reads return what the other side sent before, and then the end.
func (c readToItsEnd) Write(data []byte) (int, error) {
	written, err := c.Conn.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(data), nil
	}
	return written, err
}
