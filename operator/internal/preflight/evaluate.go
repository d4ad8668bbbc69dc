package preflight

import (
	"github.com/em-infra/em-infra/internal/inventory"
)

// rule assesses one aspect of a snapshot. Rules are pure.
type rule func(s *collector, inv *inventory.Inventory, found Snapshot)

// rules are in the order of the report: the ones on which others depend come first.
var rules = []rule{
	checkVersion,
	checkPrivileges,
	checkHosts,
	checkClocks,
	checkStorages,
	checkBridges,
	checkVMIDs,
	checkAddresses,
	checkNameservers,
	checkTemplates,
	checkISOs,
	checkMemory,
	checkCores,
	checkGPUs,
	checkFactory,
	checkNAS,
}

// Evaluate assesses whether the hosts of a snapshot can run what an inventory describes.
func Evaluate(inv *inventory.Inventory, found Snapshot) Report {
	var s collector
	if found.Version.Err != nil {
		unreachable(&s, found.Version.Err)
		checkNAS(&s, inv, found)
		return s.checks
	}
	for _, judge := range rules {
		judge(&s, inv, found)
	}
	return s.checks
}
