package talos_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// rawCodec sends and receives raw bytes.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

func (rawCodec) Name() string { return "proto" }

// dial connects to a machine with these credentials, and sends raw bytes.
func (l *lab) dial(t *testing.T, vmid int, config *tls.Config) *grpc.ClientConn {
	t.Helper()

	connection, err := grpc.NewClient(l.address(vmid).String()+":50000", grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })

	return connection
}

// mutualTLS returns the TLS configuration of an admin of the cluster.
func (c *cluster) mutualTLS(t *testing.T) *tls.Config {
	t.Helper()

	pair, err := c.bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	require.NoError(t, err)

	certificate, err := tls.X509KeyPair(pair.Crt, pair.Key)
	require.NoError(t, err)

	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(c.bundle.Certs.OS.Crt))

	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// nonsense returns a random message that may be valid.
func nonsense(random *rand.Rand) []byte {
	message := make([]byte, random.IntN(64))
	for i := range message {
		message[i] = byte(random.Uint32())
	}

	switch random.IntN(4) {
	case 0:
		return nil
	case 1: // a text in the first field
		return append([]byte{0x0a, byte(len(message))}, message...)
	case 2: // a number in one of the first fields, and a text
		return append([]byte{byte(1+random.IntN(6)) << 3, byte(random.IntN(128)), 0x12, byte(len(message))}, message...)
	default:
		return message
	}
}

// exchange makes a call and reads its answers, or a few of them if it does not end. A node begins with the calls of a connection in their order, so it
// has begun with this one when it answers the next.
func exchange(ctx context.Context, connection *grpc.ClientConn, method string, message []byte) error {
	const (
		mostAnswers = 10
		patience    = 30 * time.Millisecond
	)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}

	// The answer contains the result; an error of sending is expected.
	if err := errors.Join(stream.SendMsg(&message), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	var next, nothing []byte
	if err := connection.Invoke(ctx, "/no.such.Service/Next", &next, &nothing); status.Code(err) != codes.Unimplemented {
		return err
	}

	time.AfterFunc(patience, cancel)

	for range mostAnswers {
		var answer []byte
		if err := stream.RecvMsg(&answer); err != nil {
			return err
		}
	}

	return nil
}

// panicked reports whether a handler's panic was recovered (talos pkg/grpc/factory, recoveryHandler), as opposed to an
// invalid message (grpc-go server.go, processUnaryRPC). COSI's own server panics for requests without options
// (cosi-project/runtime pkg/state/protobuf/server), so a real node has to recover from them as well.
func panicked(method string, err error) bool {
	return status.Code(err) == codes.Internal && !strings.Contains(err.Error(), "unmarshal") &&
		!strings.HasPrefix(method, "/cosi.resource.State/")
}

// endsTheNode reports whether a valid call of the method may stop the node.
func endsTheNode(method string) bool {
	return slices.ContainsFunc([]string{"Reset", "Shutdown", "Reboot", "Upgrade", "Rollback", "LeaveCluster", "RemoveMember", "Wipe"},
		func(part string) bool { return strings.Contains(method, part) })
}

// TestMalformedCallsInBulk sends thousands of invalid or almost valid messages to every method, and to unknown ones, in
// maintenance mode and after it. Nothing panics, and the node continues to answer.
func TestMalformedCallsInBulk(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.powerOn(102)
	l.waitStage(102, talos.StageMaintenance)

	methods := append(talos.Methods(), "/machine.MachineService/Fly", "/no.such.Service/Get", "/", "/a/b/c")
	slices.SortStableFunc(methods, func(a, b string) int { // methods that stop the node come last
		return strings.Compare(fmt.Sprint(endsTheNode(a)), fmt.Sprint(endsTheNode(b)))
	})

	for name, connection := range map[string]*grpc.ClientConn{
		"secure":      l.dial(t, 101, c.mutualTLS(t)),
		"maintenance": l.dial(t, 102, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}),
	} {
		random := rand.New(rand.NewPCG(1, 2))

		for _, method := range methods {
			for range 8 {
				message := nonsense(random)
				err := exchange(t.Context(), connection, method, message)
				require.False(t, panicked(method, err), "%s %s %x: %v", name, method, message, err)

				if endsTheNode(method) && status.Code(err) == codes.Unavailable {
					break
				}
			}
		}
	}

	l.powerOn(103)
	l.waitStage(103, talos.StageMaintenance)

	_, err := l.insecure(103).Disks(t.Context())
	require.NoError(t, err, "the lab goes on")
}

// TestGarbageOnTheWire sends bytes that are not TLS, and TLS that is not gRPC.
func TestGarbageOnTheWire(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	address := l.address(101).String() + ":50000"

	for _, garbage := range []string{"", "\x00\x01", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff", strings.Repeat("A", 1<<16)} {
		sendGarbage(t, plainConnection(t, address), garbage)
		sendGarbage(t, tlsConnection(t, address), garbage)
	}

	_, err := l.insecure(101).Disks(t.Context())
	require.NoError(t, err)
}

func plainConnection(t *testing.T, address string) net.Conn {
	t.Helper()

	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)

	return connection
}

func tlsConnection(t *testing.T, address string) net.Conn {
	t.Helper()

	connection, err := tls.Dial("tcp", address, &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
	})
	require.NoError(t, err)

	return connection
}

// sendGarbage writes and closes the connection; the node may close it first.
func sendGarbage(t *testing.T, connection net.Conn, garbage string) {
	t.Helper()

	_, err := io.WriteString(connection, garbage)
	if err != nil {
		t.Logf("hung up on: %s", err)
	}

	if err := connection.Close(); err != nil {
		t.Logf("hung up on: %s", err)
	}
}
