package e2e_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// talosLog returns what happened on the lab's nodes since, in the order in which it began.
func (r *rehearsal) talosLog(since time.Time) []labstack.NodeLine {
	r.t.Helper()
	lines, err := labstack.NodeLog(r.dir(), since)
	require.NoError(r.t, err)
	return lines
}

// vmids of the nodes that were down, each once, sorted.
func vmids(outages []labstack.Outage) []int {
	var found []int
	for _, o := range outages {
		found = append(found, o.VMID)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
