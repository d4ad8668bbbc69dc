package loopbacktest

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

// Networks of tests begin with 127.100 to 127.199, beside those of labs.
const firstByte, firstBytes = 100, 100

// The address and the port of a network on which its test listens. No machine has them.
const claimedNumber, claimedPort = 254, 50999

// Network returns a loopback network that no other test has until this one has ended. The claim does not depend on open ports of the machines in it:
// a machine that is off between two of its boots has none.
func Network(t testing.TB) netip.Prefix {
	t.Helper()
	for range 100 {
		address := netip.AddrFrom4([4]byte{127, byte(firstByte + rand.IntN(firstBytes)), byte(rand.IntN(256)), claimedNumber})
		claim, err := net.Listen("tcp", netip.AddrPortFrom(address, claimedPort).String())
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := claim.Close(); err != nil {
				t.Error(err)
			}
		})
		return netip.PrefixFrom(address, 24).Masked()
	}
	t.Fatal("no free loopback network")
	return netip.Prefix{}
}
