package e2e_test

import (
	"slices"
	"sync"
	"testing"
)

// begins prepares a trial: a lab that is empty for a birth, else a running cluster, and a changed inventory.
func begins(t *testing.T, o trial, name string) *rehearsal {
	t.Helper()
	switch o {
	case removal:
		return begunRemoval(t)
	case change:
		return begunRoll(t)
	default:
		r := newRehearsal(t, "e2e-fault-"+name)
		r.mustRun(0, "lab", "start")
		return r
	}
}

// harmless runs operations under all faults that cannot occur in them.
type harmless struct {
	once [3]sync.Once
	met  [3]map[string]int
}

// runs runs an operation once under all faults that cannot occur in it, and returns how often each has occurred.
func (h *harmless) runs(t *testing.T, o trial) map[string]int {
	t.Helper()
	i := slices.Index(trials, o)
	h.once[i].Do(func() {
		r := begins(t, o, "none")
		for _, row := range faultTable {
			if row.course(o).never != "" {
				r.mustRun(0, "lab", "fault", "set", row.fault)
			}
		}
		r.mustRun(0, "up", "--lab", "--yes")
		h.met[i] = r.occurred()
		r.mustRun(0, "lab", "fault", "clear")
		r.endsWell()
	})
	return h.met[i]
}
