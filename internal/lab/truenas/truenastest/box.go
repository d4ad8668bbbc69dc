// Package truenastest serves an emulated TrueNAS for tests of its clients.
package truenastest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	lab "github.com/em-infra/em-infra/internal/lab/truenas"
	"github.com/em-infra/em-infra/internal/truenas"
)

// Box is an emulated TrueNAS with a pool tank of 100 GiB.
type Box struct {
	*lab.Box

	// Connection reaches it as its administrator, with the pinned certificate.
	Connection truenas.Connection
	// CA verifies its certificate, in PEM.
	CA string

	t      *testing.T
	faults *fault.Set
	log    *callLog
	clock  *clock
}

// clock is the present time, until it is set.
type clock struct{ at atomic.Pointer[time.Time] }

func (c *clock) now() time.Time {
	if at := c.at.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// SetClock stops the clock of the box at a time.
func (b *Box) SetClock(at time.Time) { b.clock.at.Store(&at) }

// Serve serves a box until the test ends.
func Serve(t *testing.T) *Box {
	t.Helper()
	key := "1-" + rand.Text()
	faults := fault.NewSet([32]byte{}, lab.Faults)
	log, clock := &callLog{}, &clock{}
	box, err := lab.New(lab.Config{
		Pools: []lab.Pool{{Name: "tank", Size: 100 << 30}}, Addresses: []string{"192.168.20.5"}, User: "em-infra", Key: key, Roles: []string{"FULL_ADMIN"},
		Faults: faults, Sleep: func(time.Duration) {}, Log: log, Now: clock.now,
	})
	require.NoError(t, err)
	server := httptest.NewTLSServer(box)
	t.Cleanup(func() {
		require.NoError(t, box.Close())
		server.Close()
	})
	sum := sha256.Sum256(server.Certificate().Raw)
	return &Box{
		Box: box, t: t, faults: faults, log: log, clock: clock,
		CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		Connection: truenas.Connection{
			Endpoint: server.URL, Fingerprint: strings.ToUpper(hex.EncodeToString(sum[:])), Username: "em-infra", APIKey: key,
		},
	}
}

// Fail sets a fault.
func (b *Box) Fail(f fault.Fault) {
	b.t.Helper()
	require.NoError(b.t, b.faults.Set(f))
}

// Mend clears all faults.
func (b *Box) Mend() {
	b.t.Helper()
	_, err := b.faults.Clear("")
	require.NoError(b.t, err)
}

// Occurred returns how often a fault has occurred.
func (b *Box) Occurred(name string) int {
	b.t.Helper()
	for _, state := range b.faults.List() {
		if state.Name == name {
			return state.Occurred
		}
	}
	return 0
}

// Call calls a method as its administrator, as a user does by hand.
func (b *Box) Call(into any, method string, params ...any) {
	b.t.Helper()
	client, err := b.Connection.Open(b.t.Context())
	require.NoError(b.t, err)
	require.NoError(b.t, client.Call(b.t.Context(), into, method, params...))
	require.NoError(b.t, client.Close())
}
