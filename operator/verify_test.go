package operator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestAMachineThatIsOffIsNotAwaited: a verification starts nothing, so it does not wait long for machines that are off.
func TestAMachineThatIsOffIsNotAwaited(t *testing.T) {
	t.Parallel()
	const lasting = "the cluster does not work:\n  k3s-dev-worker-1: its VM is stopped\n" +
		"run `em-infra up --stack home`, which starts or creates what is away (k3s-dev-worker-1), and verifies the cluster"
	for _, test := range []struct {
		name string
		off  time.Duration
		want string
		took time.Duration
	}{
		{"for good", time.Hour, lasting, 62 * time.Second},
		{"for a moment", 30 * time.Second, "", 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, told := time.Now(), []string{}
				_, err := operator.VerifyCluster(t.Context(), func(now time.Time) (report status.Report) {
					if now.Sub(began) < test.off {
						report.Machines = []status.Machine{{Name: "k3s-dev-worker-1", VM: "stopped", Known: true}}
					}
					return report
				}, func(event operator.Event) {
					if progress, is := event.(operator.Progress); is {
						told = append(told, progress.What)
					}
				})
				require.Equal(t, test.took, time.Since(began))
				require.Contains(t, told, "waits for k3s-dev-worker-1: its VM is stopped, 1 min at most")
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}
