package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// TestExcuses: a run may fail only for what was left in its own stack or in one below it, and only until an up of that stack succeeded.
func TestExcuses(t *testing.T) {
	t.Parallel()
	runs := []string{"hosts-up", "hosts-pulumi", "systems-up", "systems-pulumi", "up", "pulumi", "site-up"}
	for name, test := range map[string]struct {
		happened  func(l *model.Leftovers)
		noCluster bool
		excused   []string
	}{
		"nothing":                        {func(*model.Leftovers) {}, false, nil},
		"a fault in an up of hosts":      {func(l *model.Leftovers) { l.Disturb("hosts-up") }, false, runs},
		"a fault in an up of systems":    {func(l *model.Leftovers) { l.Disturb("systems-up") }, false, []string{"systems-up", "systems-pulumi", "up", "pulumi", "site-up"}},
		"a fault in an up of a cluster":  {func(l *model.Leftovers) { l.Disturb("up") }, false, []string{"up", "pulumi", "site-up"}},
		"a fault in one of all":          {func(l *model.Leftovers) { l.Disturb("site-up") }, false, runs},
		"hosts are up again":             {func(l *model.Leftovers) { l.Disturb("hosts-up"); l.Cleared(site.HostsLayer) }, false, nil},
		"without a cluster, all up":      {func(l *model.Leftovers) { l.Disturb("site-up"); l.Cleared(site.HostsLayer, site.SystemsLayer) }, true, nil},
		"hosts are up, and systems not":  {func(l *model.Leftovers) { l.Disturb("site-up"); l.Cleared(site.HostsLayer) }, true, []string{"systems-up", "systems-pulumi", "up", "pulumi", "site-up"}},
		"an edit of hosts waits":         {func(l *model.Leftovers) { l.Wait(site.HostsLayer) }, false, []string{"hosts-pulumi", "systems-up", "systems-pulumi", "up", "pulumi", "site-up"}},
		"an edit of systems waits":       {func(l *model.Leftovers) { l.Wait(site.SystemsLayer) }, false, []string{"systems-pulumi", "up", "pulumi", "site-up"}},
		"an edit of the storage waits":   {func(l *model.Leftovers) { l.Wait(site.ClusterLayer) }, false, []string{"pulumi", "site-up"}},
		"an edit of hosts was made true": {func(l *model.Leftovers) { l.Wait(site.HostsLayer); l.Cleared(site.HostsLayer) }, false, nil},
		"an interface is staged":         {func(l *model.Leftovers) { l.Staged = true }, false, []string{"hosts-up", "hosts-pulumi", "site-up"}},
	} {
		l := model.NewLeftovers(!test.noCluster)
		test.happened(l)
		var excused []string
		for _, what := range runs {
			if l.Excuse(what) {
				excused = append(excused, what)
			}
		}
		require.Equal(t, test.excused, excused, name)
	}
}
