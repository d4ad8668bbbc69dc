package nodeops_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// TestSilenceIsNotTakenForAMachineThatIsOff: otherwise a user without a route to the nodes would reboot all of them at once.
func TestSilenceIsNotTakenForAMachineThatIsOff(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	require.NoError(t, m.fleet.PowerOff(vmid)) // as silent as a node behind a firewall
	for _, test := range []struct {
		name    string
		runs    func(context.Context, rolling.Node) (bool, error)
		problem string
	}{
		{"it runs", func(context.Context, rolling.Node) (bool, error) { return true, nil }, "its machine runs, but nothing answers at " + m.address.String() + ": make a route to it from here, or reset its VM in Proxmox VE if its console shows that it hangs"},
		{"nobody knows", nil, "its machine runs, but nothing answers at " + m.address.String() + ": make a route to it from here, or reset its VM in Proxmox VE if its console shows that it hangs"},
		{"its host is silent", func(context.Context, rolling.Node) (bool, error) { return false, errors.New("vmhost does not answer") }, "it is silent, and whether its machine runs is not known: vmhost does not answer"},
		{"it is off", func(context.Context, rolling.Node) (bool, error) { return false, nil }, ""},
	} {
		health.Runs = test.runs
		terms, err := health.Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
		require.Equal(t, rolling.Terms{}, terms)
		if test.problem == "" {
			require.NoError(t, err, test.name)
		} else {
			require.EqualError(t, err, "k3s-dev-control-1: "+test.problem, test.name)
		}
	}
}

func TestAControlPlaneIsBackWhenItRunsTheNewConfiguration(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	list.set(nodeObject(t, "k3s-dev-control-1", true, boot))
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member()}, nil)
	require.NoError(t, err)
	require.False(t, terms.Drain, "it goes on")
	require.NoError(t, terms.Back(t.Context()), "nothing was changed")

	seen, err := m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	apply := func(text string) {
		t.Helper()
		api, err := client.New(t.Context(), client.WithConfig(adminOf(t, secretsOf(t, ours), m.address)))
		require.NoError(t, err)
		defer api.Close()
		_, err = api.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: []byte(text), Mode: machine.ApplyConfigurationRequest_AUTO})
		require.NoError(t, err)
	}
	sysctl := strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    sysctls: {vm.max_map_count: \"262144\"}\n", 1)
	apply(sysctl)
	require.NoError(t, terms.Back(t.Context()), "it concerns no static pod, so none is waited for")

	apply(strings.Replace(sysctl, "    apiServer:\n", "    apiServer:\n        extraArgs: {no-such-argument: \"true\"}\n", 1))
	require.EqualError(t, terms.Back(t.Context()), "its kube-apiserver runs by the former configuration")
	list.setPods("2", "CrashLoopBackOff")
	require.EqualError(t, terms.Back(t.Context()), "its kube-apiserver does not run (CrashLoopBackOff)")
	list.setPods("2", "")
	require.NoError(t, terms.Back(t.Context()))
	list.pods.Store(`{"items":[]}`)
	require.EqualError(t, terms.Back(t.Context()), "its kube-apiserver is not there")
}

func TestPodsMoveWhereThereIsANetworkAndTheNodeAnswers(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	drains := func(change rolling.Change) bool {
		t.Helper()
		terms, err := m.health().Spare(t.Context(), change, nil)
		require.NoError(t, err)
		return terms.Drain
	}
	require.False(t, drains(rolling.Change{Node: m.member(), Reboots: true}), "no Node is Ready")
	list.set(nodeObject(t, "k3s-dev-control-1", true, boot))
	require.True(t, drains(rolling.Change{Node: m.member(), Reboots: true}))
	require.False(t, drains(rolling.Change{Node: m.member()}), "it does not reboot")
	require.False(t, drains(rolling.Change{Node: worker("worker-1"), Reboots: true}), "a node that does not answer lets no pod end")
}

// TestANodeThatDoesNotSayWhetherItRebootsIsNotChanged checks that such a node is not changed, because it could reboot with its pods. A node that
// refuses the configuration does not reboot for it, and the change itself reports why.
func TestANodeThatDoesNotSayWhetherItRebootsIsNotChanged(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	m := powerOn(t, func(config *talos.Config, _ *talos.Hardware) { config.Faults = talos.NewFaultSet(faults, nil) })
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	list.set(nodeObject(t, "k3s-dev-control-1", true, boot))
	seen, err := m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	rebooting := []byte(strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    udev: {rules: ['SUBSYSTEM==\"drm\", MODE=\"0660\"']}\n", 1))

	require.NoError(t, faults.Set(fault.Fault{Name: talos.FaultAPIUnavailable, Endpoint: "/machine.MachineService/ApplyConfiguration", Times: 1}))
	_, err = m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: rebooting}, nil)
	require.EqualError(t, err, "whether its configuration reboots it is not known (its Talos API: the node does not answer)")
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: rebooting}, nil)
	require.NoError(t, err)
	require.True(t, terms.Drain)

	terms, err = m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: []byte("{}")}, nil)
	require.NoError(t, err, "it is no configuration")
	require.False(t, terms.Drain)

	silent := rolling.Node{Name: "worker-1", Address: freeAddress(t)}
	_, err = m.health().Spare(t.Context(), rolling.Change{Node: silent, Configuration: rebooting}, nil)
	require.ErrorContains(t, err, "whether its configuration reboots it is not known (its Talos API")
	health := m.health()
	health.Runs = func(_ context.Context, node rolling.Node) (bool, error) { return node.Name != silent.Name, nil }
	terms, err = health.Spare(t.Context(), rolling.Change{Node: silent, Configuration: rebooting}, nil)
	require.NoError(t, err, "it is off")
	require.False(t, terms.Drain)
}

// heldServices is a pace without delays, except between the start of the Talos API and that of the other services: if held is set, this delay lasts
// until goOn is closed.
type heldServices struct {
	held  atomic.Bool
	goOn  chan struct{}
	lasts time.Duration
}

// Sleep implements [talos.Pacer].
func (h *heldServices) Sleep(ctx context.Context, d time.Duration) error {
	if d != h.lasts || !h.held.Load() {
		return ctx.Err()
	}
	select {
	case <-h.goOn:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// TestAnEtcdThatHasNotStartedYetIsNotTakenForNone: otherwise all control planes would be changed at once after a power cut.
func TestAnEtcdThatHasNotStartedYetIsNotTakenForNone(t *testing.T) {
	t.Parallel()
	services := &heldServices{goOn: make(chan struct{}), lasts: 7 * time.Second}
	m := powerOn(t, func(config *talos.Config, _ *talos.Hardware) {
		config.Pace, config.Durations = services, talos.Durations{Services: services.lasts}
	})
	m.bringUp()
	require.NoError(t, m.fleet.PowerOff(vmid))
	services.held.Store(true)
	require.NoError(t, m.fleet.PowerOn(t.Context(), talostest.Hardware(vmid, "k3s-dev-control-1", m.address, release)))
	m.eventually(func() error {
		_, err := nodeops.LookAt(t.Context(), m.health().Talosconfig, m.address.String())
		return err
	})
	const refusal = "k3s-dev-control-1: etcd has data, and does not run yet"
	another := rolling.Change{Node: rolling.Node{Name: "k3s-dev-worker-1", Address: netip.MustParseAddr("127.0.0.1")}, Reboots: true}
	_, err := m.health().Spare(t.Context(), another, nil)
	require.EqualError(t, err, refusal)
	_, err = m.health().EtcdSnapshot(t.Context())
	require.EqualError(t, err, refusal)
	_, err = m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
	require.NoError(t, err, "a change may be what its etcd lacks")
	snapshot, err := m.health().AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{Works: time.Minute, Starts: time.Second})
	require.NoError(t, err, "and there is nothing to take a snapshot of")
	require.Nil(t, snapshot)

	close(services.goOn)
	m.eventually(func() error {
		_, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
		return err
	})
}
