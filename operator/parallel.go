package operator

import (
	"runtime"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
)

// How many resources the CLI works on at once (pulumi pkg/v3 v3.254.0, cmd/pulumi/operations/up.go, defaultParallel).
const (
	variableParallel = "PULUMI_PARALLEL"
	perProcessor     = 4
)

// parallelFor returns how many resources the engine has to work on at once if the control planes may wait for a canary: each control plane that waits
// occupies one of its places, and on a computer with one processor it has four. 0 leaves the number to the CLI, which reads the variable that own
// looks up.
func parallelFor(inv *inventory.Inventory, own func(string) (string, bool)) int {
	if inv == nil || inv.Cluster.Upgrade.Canary == "" {
		return 0
	}
	parallel := perProcessor * runtime.GOMAXPROCS(0)
	if text, found := own(variableParallel); found {
		if value, err := strconv.Atoi(text); err == nil && value > 0 {
			parallel = value
		}
	}
	if needed := len(inv.Nodes.ControlPlanes()) + 1; parallel < needed {
		return needed
	}
	return 0
}
