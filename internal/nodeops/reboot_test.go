package nodeops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

func TestAnOrderToRebootThatIsNotTakenLeavesTheNodeAsItIs(t *testing.T) {
	t.Parallel()
	m := powerOn(t) // in maintenance mode, where no client is authorized
	err := m.health().Reboot(t.Context(), m.member())
	var untouched *nodeops.UntouchedError
	require.ErrorAs(t, err, &untouched)
	require.ErrorContains(t, err, "k3s-dev-control-1 does not take the order to reboot (")
	require.ErrorContains(t, err, "): see that it runs and that its Talos API is reached, then reboot it again")
}
