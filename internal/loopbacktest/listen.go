// Package loopbacktest gives each test a loopback address of its own. On 127.0.0.1, another process may open a port right after a test
// has closed it. On an address that only one test uses, a closed port stays closed.
package loopbacktest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Listen returns a listener on an address of its own. The caller closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 200+rand.IntN(50), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// Refused returns an address that refuses connections.
func Refused(t testing.TB) string {
	t.Helper()
	listener := Listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}
