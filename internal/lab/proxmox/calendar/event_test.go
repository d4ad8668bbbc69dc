package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/calendar"
)

// TestNext computes the next time after Wednesday, 15 July 2026, 12:34:56, in a zone with two hours more than UTC.
func TestNext(t *testing.T) {
	t.Parallel()

	zone := time.FixedZone("", 7200)
	after := time.Date(2026, time.July, 15, 12, 34, 56, 0, zone)

	for text, expected := range map[string]string{
		"minutely":            "2026-07-15 12:35:00",
		"hourly":              "2026-07-15 13:00:00",
		"daily":               "2026-07-16 00:00:00",
		"daily UTC":           "2026-07-16 02:00:00",
		"weekly":              "2026-07-20 00:00:00",
		"monthly":             "2026-08-01 00:00:00",
		"quarterly":           "2026-10-01 00:00:00",
		"semi-annually":       "2027-01-01 00:00:00",
		"yearly":              "2027-01-01 00:00:00",
		"21:00":               "2026-07-15 21:00:00",
		"12:34":               "2026-07-16 12:34:00",
		"12:34:57":            "2026-07-15 12:34:57",
		"*/15":                "2026-07-15 12:45:00",
		"25:00":               "2026-07-15 13:25:00",
		"8..17/3:30":          "2026-07-15 14:30:00",
		"*:0/20":              "2026-07-15 12:40:00",
		"2/4:00":              "2026-07-15 14:00:00",
		"sat 03:15":           "2026-07-18 03:15:00",
		"mon..fri 02:30":      "2026-07-16 02:30:00",
		"Friday..Tuesday 1:0": "2026-07-17 01:00:00",
		"mon,wed 12:00":       "2026-07-20 12:00:00",
		"sun":                 "2026-07-19 00:00:00",
		"*-*-1 04:00":         "2026-08-01 04:00:00",
		"12-24":               "2026-12-24 00:00:00",
		"2027-2-28 23:59":     "2027-02-28 23:59:00",
		"mon *-1..7":          "2026-08-03 00:00:00",
		"2020-1-1":            "",
		"02-30":               "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			event, err := calendar.Parse(text)
			require.NoError(t, err)

			at, found := event.Next(after, zone)
			require.Equal(t, expected != "", found)

			if found {
				require.Equal(t, expected, at.In(zone).Format(time.DateTime))
			}
		})
	}
}

func TestEventsThatAreNone(t *testing.T) {
	t.Parallel()

	for text, problem := range map[string]string{
		"tomorrow":       `'tomorrow' - Context("weekday")`,
		"mon..never":     `'..never' - Nom(Eof)`,
		"12:61":          `'12:61' - Context("date or time specification")`,
		"61":             `'61' - Context("date or time specification")`,
		"12:00 daily":    `' daily' - Nom(Eof)`,
		"22:00,":         `',' - Nom(Eof)`,
		"mon, 22:00":     `', 22:00' - Nom(Eof)`,
		"2027-13-1":      `'2027-13-1' - Context("date or time specification")`,
		"5..3:00":        `'5..3:00' - Context("date or time specification")`,
		"at midnight":    `'at' - Context("weekday")`,
		"-1":             `'-1' - Context("date or time specification")`,
		"mon 12:00:61.5": `':61.5' - Nom(Eof)`,
	} {
		_, err := calendar.Parse(text)
		require.EqualError(t, err, "unable to parse calendar event at "+problem)
	}
}
