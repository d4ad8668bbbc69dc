package talos

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

var faultRows = slices.Concat(bootFaults, clusterFaults, upgradeFaults)

// FaultKinds returns the faults of a node.
func FaultKinds() []fault.Kind {
	kinds := make([]fault.Kind, len(faultRows))
	for i, row := range faultRows {
		kinds[i] = row.Kind
		kinds[i].Calls = row.point == "" || isCall(row.point)
	}

	return kinds
}

// FaultSet applies the faults that are set.
type FaultSet struct {
	asked  *fault.Set
	hostOf func(vmid int) string
}

// NewFaultSet returns the faults of a set, which must know FaultKinds. hostOf returns the host of a VM; nil means that the
// machines have no host.
func NewFaultSet(asked *fault.Set, hostOf func(vmid int) string) *FaultSet {
	if hostOf == nil {
		hostOf = func(int) string { return "" }
	}

	return &FaultSet{asked: asked, hostOf: hostOf}
}

var _ Faults = (*FaultSet)(nil)

// At implements [Faults].
func (s *FaultSet) At(p Point) Effect {
	o := fault.Occasion{Node: s.hostOf(p.VMID), VMIDs: []int{p.VMID}}
	if isCall(p.Name) {
		o.Endpoint = p.Name
	}

	name := s.asked.Trigger(o, func(name string) bool {
		row := rowNamed(name)
		return row != nil && row.occurs(p)
	})
	if row := rowNamed(name); row != nil {
		return row.effect
	}

	return Effect{}
}

// rowNamed returns the row of a fault, nil for a fault that is not a node's.
func rowNamed(name string) *faultRow {
	i := slices.IndexFunc(faultRows, func(row faultRow) bool { return row.Name == name })
	if i < 0 {
		return nil
	}

	return &faultRows[i]
}
