package operator_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator"
)

func TestTheCanaryHasAPlaceOfItsOwn(t *testing.T) {
	t.Parallel()
	many := 4 * runtime.GOMAXPROCS(0) // as many control planes as places
	for _, c := range []struct {
		name          string
		canary        string
		controlPlanes int
		own           map[string]string
		want          int
	}{
		{"no canary", "", many, nil, 0},
		{"fewer places than control planes", "worker-1", many, nil, many + 1},
		{"the user wants one at once", "worker-1", 3, map[string]string{"PULUMI_PARALLEL": "1"}, 4},
		{"the user wants more", "worker-1", many, map[string]string{"PULUMI_PARALLEL": strconv.Itoa(many + 1)}, 0},
		{"places enough", "worker-1", 1, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inv := &inventory.Inventory{Cluster: inventory.Cluster{Upgrade: inventory.Upgrade{Canary: c.canary}}}
			for range c.controlPlanes {
				inv.Nodes = append(inv.Nodes, inventory.Node{Role: inventory.RoleControlPlane})
			}
			require.Equal(t, c.want, operator.ParallelFor(inv, func(name string) (string, bool) {
				value, found := c.own[name]
				return value, found
			}))
		})
	}
	require.Zero(t, operator.ParallelFor(nil, nil), "a stack of hosts")
}
