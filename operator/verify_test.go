package operator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestAMachineThatIsOffIsNotAwaited: a verification starts nothing, so it does not wait long for machines that are off. For machines on a host that
// is silent it waits longer, but not as long as for others.
func TestAMachineThatIsOffIsNotAwaited(t *testing.T) {
	t.Parallel()
	const lasting = "the cluster does not work:\n  k3s-dev-worker-1: its VM is stopped\n" +
		"run `em-infra up --stack home`, which starts or creates what is away (k3s-dev-worker-1), and verifies the cluster"
	const silent = "the cluster was made, and does not work 5 min later:\n  k3s-dev-worker-1: its Talos was not asked, for want of a talosconfig\n" +
		"look at what it lacks, then verify again with `em-infra up --stack home --only verify`"
	const hostOff = "the cluster was made, and does not work 5 min later:\n  k3s-dev-worker-1: its VM is unknown\n" +
		"  k3s-dev-worker-1: its host pve1 is off, or sends no status: start the host, or its service pvestatd\n" +
		"look at what it lacks, then verify again with `em-infra up --stack home --only verify`"
	for _, test := range []struct {
		name, vm string
		off      time.Duration
		waits    string
		want     string
		took     time.Duration
	}{
		{"for good", "stopped", time.Hour, "its VM is stopped, 1 min at most", lasting, 62 * time.Second},
		{"for a moment", "stopped", 30 * time.Second, "its VM is stopped, 1 min at most", "", 30 * time.Second},
		{"on a host that is silent", "", time.Hour, "its Talos was not asked, for want of a talosconfig, 5 min at most", silent, 302 * time.Second},
		{"on a host that is off", "unknown", time.Hour, "its VM is unknown, 5 min at most", hostOff, 302 * time.Second},
		{"on a host that restarts", "", 4 * time.Minute, "its Talos was not asked, for want of a talosconfig, 5 min at most", "", 4 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, reported := time.Now(), []string{}
				_, err := operator.VerifyCluster(t.Context(), func(now time.Time) (report status.Report) {
					if now.Sub(began) < test.off {
						report.Machines = []status.Machine{{Name: "k3s-dev-worker-1", Host: "pve1", VM: test.vm, Known: true}}
					}
					return report
				}, func(event operator.Event) {
					if progress, is := event.(operator.Progress); is {
						reported = append(reported, progress.What)
					}
				})
				require.Equal(t, test.took, time.Since(began))
				require.Contains(t, reported, "waits for k3s-dev-worker-1: "+test.waits)
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}

// TestAVMIDThatIsTakenIsNotAwaited: nothing that ends by itself frees it, and no up makes the machine.
func TestAVMIDThatIsTakenIsNotAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := operator.VerifyCluster(t.Context(), func(time.Time) status.Report {
			return status.Report{Machines: []status.Machine{{Name: "k3s-dev-worker-1", VMID: 103, Host: "pve1", VM: "absent", Taken: "VM 103 (web) on pve1", Known: true}}}
		}, func(operator.Event) {})
		require.EqualError(t, err, "the cluster was made, and does not work:\n  k3s-dev-worker-1: its VMID is taken by VM 103 (web) on pve1\n"+
			"  k3s-dev-worker-1: VMID 103 is taken by VM 103 (web) on pve1: `em-infra preflight --stack home` says whose it is and what to do\n"+
			"look at what it lacks, then verify again with `em-infra up --stack home --only verify`")
		require.Zero(t, time.Since(began))
	})
}

// TestALearnerIsNotWipedEarly: Talos tries for ten minutes to give it its vote, and an alarm of etcd ends the wait at once.
func TestALearnerIsNotWipedEarly(t *testing.T) {
	t.Parallel()
	const wipe = "talosctl --nodes 192.168.20.12 reset --system-labels-to-wipe EPHEMERAL --reboot"
	learner := nodeops.EtcdMember{Name: "control-2", Address: "192.168.20.12", Learner: true, Problem: "its etcd member is a learner, without a vote yet"}
	for name, isAlarmed := range map[string]bool{"until Talos has given up": false, "an alarm ends the wait": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := operator.VerifyCluster(t.Context(), func(time.Time) status.Report {
					return status.Report{Members: []nodeops.EtcdMember{learner, {Name: "control-1", Problem: "etcd is full", Alarmed: isAlarmed}}}
				}, func(operator.Event) {})
				require.ErrorContains(t, err, "its etcd member is a learner")
				if isAlarmed {
					require.NotContains(t, err.Error(), wipe)
					return
				}
				require.ErrorContains(t, err, wipe)
			})
		})
	}
}
