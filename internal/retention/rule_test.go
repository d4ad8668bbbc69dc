package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/retention"
)

func TestRule(t *testing.T) {
	t.Parallel()

	// 2026-11-20 is a Friday.
	all := names(t,
		"2026-11-20T22-15-00-before-up", "2026-11-20T08-00-00-before-up", "2026-11-19T12-00-00-before-up", "2026-11-18T23-00-00-by-hand",
		"2026-11-18T12-00-00-before-up", "2026-11-16T12-00-00-before-up", "2026-11-15T12-00-00-before-up", "2026-11-09T12-00-00-before-up", "2026-11-02T12-00-00-before-up",
	)
	for _, test := range []struct {
		name string
		rule retention.Rule
		stay []string
	}{
		{"the newest of each kind", retention.Rule{Last: 1}, []string{"2026-11-20T22-15-00-before-up", "2026-11-18T23-00-00-by-hand"}},
		{
			"and of each day", retention.Rule{Last: 1, Daily: 3},
			[]string{"2026-11-20T22-15-00-before-up", "2026-11-19T12-00-00-before-up", "2026-11-18T23-00-00-by-hand"},
		},
		{
			"and of each week", retention.Rule{Last: 1, Daily: 2, Weekly: 3},
			[]string{"2026-11-20T22-15-00-before-up", "2026-11-19T12-00-00-before-up", "2026-11-18T23-00-00-by-hand", "2026-11-15T12-00-00-before-up", "2026-11-02T12-00-00-before-up"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			goes := map[retention.Name]bool{}
			for _, name := range test.rule.Excess(all) {
				goes[name] = true
			}
			var stay []string
			for _, name := range all {
				if !goes[name] {
					stay = append(stay, name.String())
				}
			}
			require.Equal(t, test.stay, stay)
		})
	}
	require.Empty(t, retention.Rule{}.Excess(all), "by default, twenty of each kind stay")
}

// A copy of the last days of a year belongs to the first week of the next one.
func TestTheWeekAtTheEndOfAYear(t *testing.T) {
	t.Parallel()

	all := names(t, "2027-01-03T12-00-00-up", "2027-01-01T12-00-00-up", "2026-12-30T12-00-00-up", "2026-12-27T12-00-00-up")
	require.Equal(t, names(t, "2027-01-01T12-00-00-up", "2026-12-30T12-00-00-up"), retention.Rule{Last: 1, Weekly: 2}.Excess(all))
}

func names(t *testing.T, texts ...string) []retention.Name {
	t.Helper()
	var all []retention.Name
	for _, text := range texts {
		name, err := retention.Parse(text)
		require.NoError(t, err)
		require.Equal(t, time.UTC, name.Taken.Location())
		all = append(all, name)
	}
	return all
}
