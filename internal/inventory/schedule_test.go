package inventory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// TestSchedulesAreInUTC: schedules are in UTC, regardless of where em-infra runs. The CronJob sets this time zone, too.
func TestSchedulesAreInUTC(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	for text, want := range map[string]string{
		"0 */6 * * *":      "2026-11-21T00:00:00Z",
		"30 3 * * mon-fri": "2026-11-23T03:30:00Z",
		"@daily":           "2026-11-21T00:00:00Z",
		"@every 90m":       "2026-11-20T23:45:00Z",
		"0 0 29 2 *":       "2028-02-29T00:00:00Z",
	} {
		var schedule inventory.Schedule
		require.NoError(t, schedule.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, schedule.Next(time.Date(2026, 11, 20, 23, 15, 0, 0, berlin)).Format(time.RFC3339), text)
		require.Equal(t, text, schedule.String())
	}
	require.Zero(t, inventory.Schedule{}.Next(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)), "never")
}

// TestWhatIsNoSchedule: a text that is no schedule is refused and does not stop the program. The parser panics on a time zone without a schedule.
func TestWhatIsNoSchedule(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "TZ=UTC", "CRON_TZ=UTC", "* * * * * *", "60 * * * *", "@reboot", "@every", "0 0 31 4 *"} {
		var schedule inventory.Schedule
		require.Error(t, schedule.UnmarshalText([]byte(text)), "%q", text)
		require.Zero(t, schedule, text)
	}
}
