package nodeops_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestWhatANodeHasSaidIsRead checks that a client that has written to a connection that the other side had ended still reads what that side sent
// before.
func TestWhatANodeHasSaidIsRead(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	plain, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	node, err := listener.Accept()
	require.NoError(t, err)
	_, err = node.Write([]byte("expired certificate"))
	require.NoError(t, err)
	require.NoError(t, node.(*net.TCPConn).Close())
	polltest.Until(t, func() bool {
		_, err := plain.Write([]byte("a request"))
		return err != nil
	}, "the end of the connection reaches the client")

	connection := nodeops.ReadToItsEnd(plain)
	written, err := connection.Write([]byte("a request"))
	require.NoError(t, err)
	require.Equal(t, len("a request"), written)
	read := make([]byte, len("expired certificate"))
	_, err = io.ReadFull(connection, read)
	require.NoError(t, err)
	require.Equal(t, "expired certificate", string(read))
	_, err = connection.Read(read)
	require.Error(t, err, "a reader sees the end")
}
