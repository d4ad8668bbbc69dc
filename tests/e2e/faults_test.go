package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
)

// occurred returns how often each fault that is set on the rehearsal's lab has occurred.
func (r *rehearsal) occurred() map[string]int {
	r.t.Helper()
	list, err := control.NewClient(r.labDir()).Faults(r.t.Context())
	require.NoError(r.t, err)
	occurred := map[string]int{}
	for _, f := range list {
		occurred[f.Name] += f.Occurred
	}
	return occurred
}

// TestE2EOnABadDay: the provider and the program tolerate a host on which locks time out, changes show late and workers do not
// start, and nodes that answer slowly. It is a Proxmox VE 9.1.
func TestE2EOnABadDay(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-bad-day")
	r.mustRun(0, "lab", "start", "--pve", "9.1", "--seed", "bad day")
	for _, fault := range [][]string{
		{"config-lock-timeout", "--times", "1"},                              // the provider tries again on "got timeout"
		{"storage-lock-timeout", "--vm", "k3s-dev-worker-1", "--times", "1"}, // clone.retries
		{"no-worker", "--endpoint", "/nodes/{node}/qemu/{vmid}/status/start", "--times", "1"},
		{"lock-lingers"},
		{"status-lags"},
		{"time-not-in-sync", "--times", "1"},
		{"talos-api-unavailable", "--endpoint", "/machine.MachineService/ApplyConfiguration", "--times", "1"},
	} {
		r.mustRun(0, append([]string{"lab", "fault", "set"}, fault...)...)
	}

	r.mustRun(0, "up", "--lab", "--yes")
	for name, occurred := range r.occurred() {
		require.NotZero(t, occurred, "%s did not occur", name)
	}
	require.Len(t, r.occurred(), 7)
	r.secureAPIAnswers(r.nodes())
	r.mustRun(0, "lab", "fault", "clear")
	r.mustRun(0, "preview", "--lab", "--refresh")

	d, err := lab.ReadDescription(r.labDir())
	require.NoError(t, err)
	require.Equal(t, "9.1", string(d.Release))
	require.Equal(t, "bad day", d.Seed)
}
