package preflight

import (
	"github.com/em-infra/em-infra/internal/inventory"
)

// rule judges one side of a snapshot. Rules are pure.
type rule func(s *collector, inv *inventory.Inventory, found Snapshot)

// rules in the order of the report: what the others depend on first.
var rules = []rule{
	checkVersion,
	checkPrivileges,
	checkHosts,
	checkClocks,
	checkStorages,
	checkBridges,
	checkVMIDs,
	checkAddresses,
	checkTemplates,
	checkMemory,
	checkCores,
	checkGPUs,
	checkFactory,
}

// Evaluate judges whether what was found can bear an inventory.
func Evaluate(inv *inventory.Inventory, found Snapshot) Report {
	var s collector
	if found.Version.Err != nil {
		unreachable(&s, found.Version.Err)
		return s.checks
	}
	for _, judge := range rules {
		judge(&s, inv, found)
	}
	return s.checks
}
