package nodeops_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// wait returns the wait for a node of our cluster.
func (m *machineUnderTest) wait() nodeops.Wait {
	return nodeops.Wait{Talosconfig: talosconfigOf(m.t, secretsOf(m.t, ours), m.address), Address: m.address.String(), Machine: "VM 101"}
}

func TestWaitUntilSecureOutlastsTheInstallation(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	waited := make(chan error, 1)
	go func() { waited <- m.wait().UntilSecure(t.Context()) }()
	select {
	case err := <-waited:
		t.Fatalf("maintenance mode was taken for the secure API: %v", err)
	case <-time.After(1500 * time.Millisecond):
	}

	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	require.NoError(t, <-waited)
	require.NoError(t, m.wait().UntilConfigurable(t.Context()), "it takes another configuration")
}

// TestWaitEndsAtOnce checks that a hopeless wait ends by its cause and not by its limit.
func TestWaitEndsAtOnce(t *testing.T) {
	t.Parallel()
	const foreign = "a node of another cluster, or another server, answers at its address; nothing was sent to it: " +
		"where that is VM 101 itself, its disk holds the other cluster's data: delete the VM if they are no longer needed; " +
		"where it is another machine, give one of the two another address; then run up again"
	for _, test := range []struct {
		name  string
		meets func(t *testing.T) error
		want  string
	}{
		{"F7: a node of another cluster, before it is configured", func(t *testing.T) error {
			return theirsAt(t).UntilConfigurable(t.Context())
		}, foreign},
		{"F7: a node of another cluster, after", func(t *testing.T) error { return theirsAt(t).UntilSecure(t.Context()) }, foreign},
		{"F17: an installation that fails", func(t *testing.T) error {
			m := powerOn(t, failing(t, fault.Fault{Name: talos.FaultInstallFails}))
			wait, looked, waited := m.wait(), make(chan struct{}), make(chan error, 1)
			var once sync.Once
			wait.Say = func(text string) {
				if strings.HasSuffix(text, "in maintenance mode, with its configuration") {
					once.Do(func() { close(looked) })
				}
			}
			go func() { waited <- wait.UntilSecure(t.Context()) }()
			<-looked
			m.apply(secretsOf(t, ours))
			return <-waited
		}, "it was given its configuration and is in maintenance mode without it: its installation failed, or its disk was emptied: " +
			"run up again, which installs it anew, and look at the console of VM 101 in Proxmox VE meanwhile: " +
			"Talos says there why it fails, for ten seconds before it reboots, and nowhere else"},
		{"a machine that is switched off", func(t *testing.T) error {
			m := powerOn(t)
			require.NoError(t, m.fleet.PowerOff(vmid))
			wait := m.wait()
			wait.IsOn = func(context.Context) (bool, error) { return false, nil }
			return wait.UntilConfigurable(t.Context())
		}, "VM 101 is switched off: see in the tasks of Proxmox VE why it does not run, then run up again, which starts it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.meets(t)
			require.Regexp(t, `^node 127\.[\d.]+: `+regexp.QuoteMeta(test.want)+`$`, fmt.Sprint(err))
			require.NotErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// TestANodeThatSaysNothingIsNotTakenForAForeignOne: the API may listen before it answers.
func TestANodeThatSaysNothingIsNotTakenForAForeignOne(t *testing.T) {
	t.Parallel()
	m := powerOn(t, failing(t, fault.Fault{Name: talos.FaultAPIUnavailable, Endpoint: storage.StorageService_Disks_FullMethodName, Times: 8}))
	require.NoError(t, m.wait().UntilConfigurable(t.Context()))
}

// theirsAt returns our wait for a node of another cluster.
func theirsAt(t *testing.T) nodeops.Wait {
	t.Helper()
	m := powerOn(t)
	m.apply(secretsOf(t, theirs))
	m.waitFor(talos.StageRunning)
	return m.wait()
}

// failing sets a fault for the machine.
func failing(t *testing.T, wanted fault.Fault) func(*talos.Config, *talos.Hardware) {
	t.Helper()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	require.NoError(t, faults.Set(wanted))
	return func(config *talos.Config, _ *talos.Hardware) { config.Faults = talos.NewFaultSet(faults, nil) }
}

// TestWaitSaysForWhat checks that each state is reported once, with the limit.
func TestWaitSaysForWhat(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	var printed []string
	wait := m.wait()
	ctx, end := ending(t.Context())
	wait.Limit, wait.Say = 4*time.Minute, func(text string) {
		printed = append(printed, text)
		time.AfterFunc(4*time.Second, end) // time for some more looks
	}
	require.ErrorIs(t, wait.UntilSecure(ctx), context.DeadlineExceeded)
	require.Equal(t, []string{m.address.String() + ": in maintenance mode, with its configuration (4 min at most)"}, printed)
	require.NoError(t, wait.UntilConfigurable(t.Context()))
}

// TestWaitIsBounded checks the limit for each state of a node, with the test's own clock.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		seen  []nodeops.Seen // each for one second, the last one forever
		after int            // seconds until the wait is given up; 0 for never
	}{
		{"silent", []nodeops.Seen{{Presence: nodeops.Silent}}, 0},
		{"a node of another cluster", []nodeops.Seen{{Presence: nodeops.Foreign}}, 5},
		{"a look while a service closes", []nodeops.Seen{{Presence: nodeops.Foreign}, {Presence: nodeops.Silent}}, 0},
		{"a clock that is not set", []nodeops.Seen{{Presence: nodeops.Untimely}}, 120},
		{"a clock that is not set, and calls that take too long", slices.Repeat([]nodeops.Seen{{Presence: nodeops.Untimely}, {Presence: nodeops.Silent}}, 100), 120},
		{"maintenance mode that nothing ends", []nodeops.Seen{{Presence: nodeops.Maintenance, Boot: 1}}, 60},
		{"one call that took too long", []nodeops.Seen{{Presence: nodeops.Silent}, {Presence: nodeops.Maintenance, Boot: 1}}, 61},
		{"back in maintenance mode, seen before and after", []nodeops.Seen{{Presence: nodeops.Maintenance, Boot: 1}, {Presence: nodeops.Maintenance, Boot: 2}}, 6},
		{
			"back in maintenance mode, and a call for the time of the boot that took too long",
			[]nodeops.Seen{{Presence: nodeops.Maintenance, Boot: 1}, {Presence: nodeops.Maintenance}, {Presence: nodeops.Maintenance, Boot: 2}}, 7,
		},
		{
			"back in maintenance mode, and a look that the end of the boot cut short",
			[]nodeops.Seen{{Presence: nodeops.Maintenance, Boot: 1}, {Presence: nodeops.Foreign}, {Presence: nodeops.Maintenance, Boot: 2}}, 7,
		},
		{
			"maintenance mode that nothing ends, and calls for the time of the boot that take too long",
			slices.Repeat([]nodeops.Seen{{Presence: nodeops.Maintenance}, {Presence: nodeops.Maintenance, Boot: 1}}, 100), 60,
		},
		{
			"back in maintenance mode, seen after alone",
			[]nodeops.Seen{{Presence: nodeops.Silent}, {Presence: nodeops.Silent}, {Presence: nodeops.Silent}, {Presence: nodeops.Maintenance, Boot: 2}}, 8,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.after, nodeops.GivesUpAfter(test.seen, 1200))
		})
	}
}

func TestWaitUntilSecureWithoutTimeForAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	address := freeAddress(t)
	err := nodeops.Wait{Talosconfig: talosconfigOf(t, secretsOf(t, ours), address), Address: address.String()}.UntilSecure(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "node "+address.String()+": nothing answers there (none): look at the console of its VM in Proxmox VE: "+
		"it shows how far Talos is, and the address that it has; then run up again, it goes on from here")
}

func TestWaitUntilSecureIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	address := freeAddress(t)
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
	err := nodeops.Wait{Talosconfig: talosconfigOf(t, secretsOf(t, ours), address), Address: address.String()}.UntilSecure(ctx)
	require.EqualError(t, err, "waiting for node "+address.String()+": interrupt signal received")
}

func TestWaitUntilSecureQuotesNoTalosconfig(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	for _, talosconfig := range []string{
		secret, "context: k3s-dev\ncontexts: " + secret,
		"context: k3s-dev\ncontexts: {k3s-dev: {ca: " + secret + ", crt: " + secret + ", key: " + secret + "}}",
	} {
		err := nodeops.Wait{Talosconfig: []byte(talosconfig), Address: "127.0.0.1"}.UntilSecure(t.Context())
		require.Equal(t, nodeops.ErrTalosconfig, err)
	}
	require.EqualError(t, nodeops.ErrTalosconfig, "the talosconfig cannot be read: give the stack's output talosconfig as it is")
}
