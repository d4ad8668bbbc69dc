package nodeops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// A reboot of one of two members takes the majority away. It waits for the control plane that is about to join.
func TestAControlPlaneRebootsWhenEtcdKeepsItsMajority(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, members, controlPlanes, want string }{
		{"the only one", "cp-1", "cp-1", ""},
		{"one of three", "cp-1 cp-2 cp-3", "cp-1 cp-2 cp-3", ""},
		{"before another one joins", "cp-1", "cp-1 cp-2 cp-3", ""},
		{"one of two, until the third has joined", "cp-1 cp-2", "cp-1 cp-2 cp-3", "etcd has 2 members, no majority without cp-1, and cp-3 is no member yet"},
		{"one of two, while the third joins", "cp-1 cp-2 cp-3+", "cp-1 cp-2 cp-3", ""},
		{"one of two, while the other one leaves", "cp-1 cp-2", "cp-1", ""},
		{"one of four, while another one leaves", "cp-1 cp-2 cp-3 cp-4", "cp-1 cp-2 cp-3", ""},
		{"one that is no member", "cp-2 cp-3", "cp-1 cp-2 cp-3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := nodeops.KeepsMajority(strings.Fields(test.members), strings.Fields(test.controlPlanes), "cp-1")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
