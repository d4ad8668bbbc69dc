package nodeops_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// waitInVain is what WaitUntilSecure says at a deadline that the node outlasts. On a busy machine one call may take
// longer than the deadline; then no answer came at all, and a longer deadline has to give the node its chance.
func waitInVain(t *testing.T, talosconfig []byte, address string) error {
	t.Helper()
	const longest = 32 * time.Second
	for patience := 2 * time.Second; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := nodeops.WaitUntilSecure(ctx, talosconfig, address)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		if patience == longest || !strings.Contains(err.Error(), "(last answer: none)") {
			return err
		}
	}
}

func TestWaitUntilSecureOutlastsTheInstallation(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	waited := make(chan error, 1)
	go func() {
		waited <- nodeops.WaitUntilSecure(t.Context(), talosconfigOf(t, bundle, m.address), m.address.String())
	}()
	select {
	case err := <-waited:
		t.Fatalf("maintenance mode was taken for the secure API: %v", err)
	case <-time.After(1500 * time.Millisecond):
	}

	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	running := time.Now()
	require.NoError(t, <-waited)
	require.Less(t, time.Since(running), 30*time.Second, "gRPC alone would wait for up to two minutes")
}

func TestWaitUntilSecureSaysWhatTheNodeIs(t *testing.T) {
	t.Parallel()
	const verify = "connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: " +
		"x509: certificate signed by unknown authority"
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, m *machineUnderTest)
		answer  string
		remedy  string
	}{
		{
			"in maintenance mode", func(*testing.T, *machineUnderTest) {}, verify,
			"it is in maintenance mode and has no configuration: run up again; if it comes back there, look at the console of its VM in Proxmox VE",
		},
		{
			"F7: of another cluster", func(t *testing.T, m *machineUnderTest) {
				m.apply(secretsOf(t, theirs))
				m.waitFor(talos.StageRunning)
			}, verify,
			"the disk of its VM holds a node of another cluster (F7): delete that VM, then run up again",
		},
		{
			"switched off", func(t *testing.T, m *machineUnderTest) { require.NoError(t, m.fleet.PowerOff(vmid)) },
			"connection refused",
			"look at the console of its VM in Proxmox VE, then run up again; it goes on from here",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := powerOn(t)
			test.prepare(t, m)
			err := waitInVain(t, talosconfigOf(t, secretsOf(t, ours), m.address), m.address.String())
			require.ErrorContains(t, err, fmt.Sprintf("node %s: its Talos API does not answer under this cluster's PKI (last answer: ", m.address))
			require.ErrorContains(t, err, test.answer)
			require.Regexp(t, `\): `+regexp.QuoteMeta(test.remedy)+`$`, err.Error())
		})
	}
}

func TestWaitUntilSecureWithoutTimeForAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	address := freeAddress(t)
	err := nodeops.WaitUntilSecure(ctx, talosconfigOf(t, secretsOf(t, ours), address), address.String())
	require.EqualError(t, err, "node "+address.String()+": its Talos API does not answer under this cluster's PKI (last answer: none): "+
		"look at the console of its VM in Proxmox VE, then run up again; it goes on from here")
}

func TestWaitUntilSecureIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	address := freeAddress(t)
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
	err := nodeops.WaitUntilSecure(ctx, talosconfigOf(t, secretsOf(t, ours), address), address.String())
	require.EqualError(t, err, "waiting for node "+address.String()+": interrupt signal received")
}

func TestWaitUntilSecureQuotesNoTalosconfig(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	for _, talosconfig := range []string{
		secret, "context: k3s-dev\ncontexts: " + secret,
		"context: k3s-dev\ncontexts: {k3s-dev: {ca: " + secret + ", crt: " + secret + ", key: " + secret + "}}",
	} {
		err := nodeops.WaitUntilSecure(t.Context(), []byte(talosconfig), "127.0.0.1")
		require.Equal(t, nodeops.ErrTalosconfig, err)
	}
	require.EqualError(t, nodeops.ErrTalosconfig, "the talosconfig cannot be read: give the stack's output talosconfig as it is")
}
