package recovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// restarted is a host whose machine has been running for some time.
type restarted struct {
	on    time.Duration
	times int
}

func (h *restarted) UpFor(context.Context, int) (string, time.Duration, error) {
	return "vmhost", h.on, nil
}

func (h *restarted) Restart(context.Context, string, int) error {
	h.times++
	return nil
}

func TestWhoNeverJoined(t *testing.T) {
	t.Parallel()
	never := recovery.Unjoined{Name: "k3s-dev-worker-1", VMID: 102}
	configured := never
	configured.Configured = true
	for name, test := range map[string]struct {
		state *apitype.DeploymentV3
		past  []recovery.Past
		want  []recovery.Unjoined
	}{
		"made":            {state: state(machine()), want: []recovery.Unjoined{never}},
		"configured":      {state: state(machine(), configuration()), want: []recovery.Unjoined{configured}},
		"a member":        {state: state(machine(), configuration(), membership())},
		"half made":       {state: state(failed())},
		"was a member":    {state: state(machine()), past: []recovery.Past{kept("past", machine(), configuration(), membership())}},
		"never was one":   {state: state(machine()), past: []recovery.Past{kept("past", machine())}, want: []recovery.Unjoined{never}},
		"nothing is made": {state: state()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := recovery.UnjoinedMachines(test.state, test.past)
			require.NoError(t, err)
			require.Equal(t, test.want, found)
		})
	}
}

func TestAMachineThatHangsIsRestarted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		on         time.Duration
		answers    bool
		configured bool
		want       string
	}{
		"it hangs":      {on: 11 * time.Minute, want: "VM 102 (k3s-dev-worker-1) has been on for 11 min and does not answer; it was never a member, so it is restarted"},
		"it boots":      {on: 2 * time.Minute},
		"it is off":     {},
		"it answers":    {on: time.Hour, answers: true},
		"it installs":   {on: 11 * time.Minute, configured: true},
		"it installed?": {on: 20 * time.Minute, configured: true, want: "VM 102 (k3s-dev-worker-1) has been on for 20 min and does not answer; it was never a member, so it is restarted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &restarted{on: test.on}
			m := recovery.Unjoined{Name: "k3s-dev-worker-1", VMID: 102, Configured: test.configured}
			done, err := m.Wake(t.Context(), h, func(context.Context) bool { return !test.answers })
			require.NoError(t, err)
			require.Equal(t, test.want, done)
			require.Equal(t, test.want != "", h.times == 1)
		})
	}
}
