package talos

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

var faultRows = slices.Concat(bootFaults, clusterFaults)

// FaultKinds are the failures of a node that can be asked for.
func FaultKinds() []fault.Kind {
	kinds := make([]fault.Kind, len(faultRows))
	for i, row := range faultRows {
		kinds[i] = row.Kind
		kinds[i].Calls = row.point == "" || isCall(row.point)
	}

	return kinds
}

// FaultSet makes the failures happen that are asked for.
type FaultSet struct {
	asked  *fault.Set
	hostOf func(vmid int) string
}

// NewFaultSet returns faults that occur as the set of asked faults says, which knows FaultKinds. hostOf names the host of a VM; nil is a
// fleet whose machines are on no host.
func NewFaultSet(asked *fault.Set, hostOf func(vmid int) string) *FaultSet {
	if hostOf == nil {
		hostOf = func(int) string { return "" }
	}

	return &FaultSet{asked: asked, hostOf: hostOf}
}

var _ Faults = (*FaultSet)(nil)

// At implements Faults.
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

// rowNamed is nil for what is no failure of a node.
func rowNamed(name string) *faultRow {
	i := slices.IndexFunc(faultRows, func(row faultRow) bool { return row.Name == name })
	if i < 0 {
		return nil
	}

	return &faultRows[i]
}
